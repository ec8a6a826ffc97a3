//! The parent of fuzzing processes: starts one after the other, watches it, and makes a life that ended badly as
//! short as it can. A process may end as it likes; the parent knows its last call.

use crate::execution::{Input, Style, live};
use crate::genes;
use crate::interface::FUNCTIONS;
use crate::progress::Progress;
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A call in which all threads were seen asleep for so long, in all, will not come back. Not at a stretch: some look for
/// news now and then.
const HANG_TIMEOUT: Duration = Duration::from_secs(3);
/// Nor will one that has computed for so long.
const CPU_LIMIT: Duration = Duration::from_secs(10);
/// What a look counts at most: who was stopped or had no processor has not looked.
const LOOK: Duration = Duration::from_millis(20);
/// How long a life is made shorter.
const SHRINKING: Duration = Duration::from_secs(120);

/// Where processes run and leave what they write.
fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("softacl-fuzz-{}", std::process::id()))
}

#[derive(Debug)]
enum ChildExit {
    Well,
    /// Stuck in a call that waits for what the program itself has made endless.
    Waiting,
    Badly(String),
}

pub fn child(style: Option<Style>, seed: &str, file: &str) -> Result<(), String> {
    let style = style.ok_or("unknown style")?;
    let counters = open(Path::new(file))?;
    let progress = Progress::open(&counters).map_err(|error| format!("{file}: {error}"))?;
    let (genes, tells) = match seed.strip_prefix('@') {
        Some(kept) => (read(Path::new(kept))?, std::env::var_os("SOFTACL_FUZZ_TELL").is_some()),
        None => (genes(style, seed.parse().map_err(|_| "not a seed")?), false),
    };
    live(&genes, progress, tells)
}

/// Lives a kept life in a process of its own, and tells its calls.
pub fn replay(kept: &Path) -> Result<(), String> {
    let kept = fs::canonicalize(kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    let place = RunDirectory::new()?;
    let end = place.run(read(&kept)?.style, &format!("@{}", kept.display()), true)?;
    eprint!("{}", place.last_output());
    match end {
        ChildExit::Badly(why) => Err(why),
        _ => Ok(()),
    }
}

pub fn fuzz(style: Style, time: Duration, seed: u64) -> Result<(), String> {
    let place = RunDirectory::new()?;
    let start = Instant::now();
    let (mut lives, mut programs, mut calls, mut waiting) = (0u64, 0, 0, 0);
    let mut counts = vec![(0u64, 0u64); FUNCTIONS.len()];
    let mut failure = None;
    while start.elapsed() < time && failure.is_none() {
        let life = seed.wrapping_add(lives);
        let end = place.run(style, &life.to_string(), false)?;
        lives += 1;
        programs += place.progress.programs();
        calls += place.progress.calls();
        for (index, count) in counts.iter_mut().enumerate() {
            let (called, succeeded) = place.progress.of(index);
            *count = (count.0 + called, count.1 + succeeded);
        }
        match end {
            ChildExit::Well => {}
            ChildExit::Waiting => waiting += 1,
            ChildExit::Badly(why) => failure = Some((life, why)),
        }
    }
    let called = counts.iter().filter(|count| count.0 > 0).count();
    let succeeded = counts.iter().filter(|count| count.1 > 0).count();
    println!(
        "fuzz {}: {lives} processes, {programs} programs, {calls} calls of {called} functions ({succeeded} succeeded), {waiting} left waiting, {:.0} s, seeds {seed} to {}",
        style.name(),
        start.elapsed().as_secs_f64(),
        seed + lives
    );
    if std::env::var_os("SOFTACL_FUZZ_COUNTS").is_some() {
        for (function, (called, succeeded)) in FUNCTIONS.iter().zip(&counts) {
            println!("{called:>8} {succeeded:>8} {}", function.name);
        }
    }
    match failure {
        None => Ok(()),
        Some((life, why)) => Err(place.explain(style, life, &why)?),
    }
}

/// A directory and the counters of the processes in it.
struct RunDirectory {
    directory: PathBuf,
    progress: Progress,
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl RunDirectory {
    fn new() -> Result<RunDirectory, String> {
        let directory = directory();
        let failed = |error| format!("{}: {error}", directory.display());
        fs::create_dir_all(&directory).map_err(failed)?;
        fs::write(directory.join("config.json"), "{\"defaultDevice\":{\"default_device\":\"0\"}}").map_err(failed)?;
        let progress = Progress::open(&open(&directory.join("counters"))?).map_err(failed)?;
        Ok(RunDirectory { directory, progress })
    }

    fn last_output(&self) -> String {
        let bytes = fs::read(self.directory.join("told")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs one process to its end.
    fn run(&self, style: Style, seed: &str, tells: bool) -> Result<ChildExit, String> {
        let failed = |error: std::io::Error| format!("could not start a process: {error}");
        let told = File::create(self.directory.join("told")).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["life", style.name(), seed]).arg(self.directory.join("counters"));
        let number = seed.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let kept = seed.starts_with('@');
        command.env("SOFTACL_MEMORY", "256MiB").env("SOFTACL_PROGRESS_TIMEOUT_MS", "5").env_remove("SOFTACL_LOG");
        if !kept && std::env::var_os("SOFTACL_SCHEDULE").is_none() {
            let schedules = ["threads", "threads", "early", "late", "random:1"];
            command.env("SOFTACL_SCHEDULE", schedules[number as usize % schedules.len()]);
        }
        if tells {
            command.env("SOFTACL_FUZZ_TELL", "1");
        }
        command.current_dir(&self.directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(told);
        self.progress.clear();
        let mut process = command.spawn().map_err(failed)?;
        let (mut seen, mut asleep, mut look, mut effort) = (u64::MAX, Duration::ZERO, Instant::now(), Duration::ZERO);
        loop {
            if let Some(status) = process.try_wait().map_err(failed)? {
                return Ok(self.judge(status));
            }
            let calls = self.progress.calls();
            let state = ProcessState::of(process.id());
            if calls != seen {
                (seen, asleep, effort) = (calls, Duration::ZERO, state.effort);
            }
            if state.is_asleep {
                asleep += look.elapsed().min(LOOK);
            }
            look = Instant::now();
            if asleep > HANG_TIMEOUT || state.effort.saturating_sub(effort) > CPU_LIMIT {
                let name = self.progress.function().map_or("no call", |index| FUNCTIONS[index].name);
                process.kill().map_err(failed)?;
                process.wait().map_err(failed)?;
                return Ok(if waits(name) {
                    ChildExit::Waiting
                } else {
                    ChildExit::Badly(format!("{name} does not come back"))
                });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn judge(&self, status: ExitStatus) -> ChildExit {
        let told = self.last_output();
        if let Some(line) = told.lines().find(|line| line.contains("panicked at") || line.contains("Sanitizer")) {
            return ChildExit::Badly(line.to_owned());
        }
        if status.success() {
            return ChildExit::Well;
        }
        let last = self.progress.function().map_or("no call", |index| FUNCTIONS[index].name);
        match status.signal() {
            Some(signal) => ChildExit::Badly(format!("signal {signal} in {last}")),
            None => ChildExit::Badly(format!("{last}: {}", told.lines().last().unwrap_or("it ended without a word"))),
        }
    }

    /// Makes the life short and keeps it in a file; the result says all there is to say.
    fn explain(&self, style: Style, seed: u64, why: &str) -> Result<String, String> {
        let schedule = std::env::var("SOFTACL_SCHEDULE").unwrap_or_default();
        let whole = genes(style, seed);
        let kept = std::env::current_dir().map_err(|error| error.to_string())?.join(format!("fuzz-{seed}.txt"));
        let candidate = self.directory.join("candidate");
        let fails = |genes: &Input| -> bool {
            fs::write(&candidate, genes.write()).is_ok()
                && matches!(self.run(style, &format!("@{}", candidate.display()), false), Ok(ChildExit::Badly(_)))
        };
        // The schedule belonged to the seed.
        let number = seed.to_string().bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let schedules = ["threads", "threads", "early", "late", "random:1"];
        let schedule = if schedule.is_empty() { schedules[number as usize % 5].to_owned() } else { schedule };
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var("SOFTACL_SCHEDULE", &schedule) };
        let small = shrink(&whole, fails);
        fs::write(&kept, small.write()).map_err(|error| format!("{}: {error}", kept.display()))?;
        fs::write(&candidate, small.write()).map_err(|error| error.to_string())?;
        let again = self.run(style, &format!("@{}", candidate.display()), true)?;
        Ok(format!(
            "seed {seed} on schedule {schedule}: {why}\nof {} calls {} are left, in {}; then: {again:?}\n{}",
            whole.calls(),
            small.calls(),
            kept.display(),
            self.last_output()
        ))
    }
}

/// Leaves out programs and calls as long as the life still ends badly.
fn shrink(whole: &Input, fails: impl Fn(&Input) -> bool) -> Input {
    let end = Instant::now() + SHRINKING;
    let mut best = whole.clone();
    if !fails(&best) {
        return best;
    }
    let mut programs = best.programs.len();
    while programs > 0 {
        let mut start = 0;
        while start < best.programs.len() && Instant::now() < end {
            let mut candidate = best.clone();
            candidate.programs.drain(start..(start + programs).min(best.programs.len()));
            if fails(&candidate) { best = candidate } else { start += programs }
        }
        programs /= 2;
    }
    for program in 0..best.programs.len() {
        let mut chunk = best.programs[program].len();
        while chunk > 0 {
            let mut start = 0;
            while start < best.programs[program].len() && Instant::now() < end {
                let mut candidate = best.clone();
                let calls = &mut candidate.programs[program];
                calls.drain(start..(start + chunk).min(calls.len()));
                if fails(&candidate) { best = candidate } else { start += chunk }
            }
            chunk /= 2;
        }
    }
    best
}

/// What the system knows of a process. On a busy machine a thread may want to run for seconds and not be let; so the
/// clock alone says nothing.
struct ProcessState {
    /// Whether all threads sleep.
    is_asleep: bool,
    /// Time on processors.
    effort: Duration,
}

impl ProcessState {
    fn of(process: u32) -> ProcessState {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let mut state = ProcessState { is_asleep: true, effort: Duration::ZERO };
        for thread in threads {
            // Behind the name, which ends with the last bracket: state, and as fields 14 and 15 ticks of 10 ms.
            let text = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let mut fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
            state.is_asleep &= fields.next().is_none_or(|letter| letter == "S");
            let ticks: u64 = fields.skip(10).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
            state.effort += Duration::from_millis(10 * ticks);
        }
        state
    }
}

/// Calls that may wait for ever when the program has arranged it so.
fn waits(name: &str) -> bool {
    let waiting =
        ["Synchronize", "Memcpy", "Memset", "ProcessReport", "Free", "Destroy", "Reset", "Execute", "Finalize"];
    name == "no call" || waiting.iter().any(|part| name.contains(part))
}

fn read(kept: &Path) -> Result<Input, String> {
    let text = fs::read_to_string(kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Input::read(&text).ok_or_else(|| format!("{}: not a life", kept.display()))
}

fn open(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| format!("{}: {error}", path.display()))
}
