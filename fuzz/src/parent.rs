//! The parent of the child processes that execute inputs: starts one after the other, detects crashes and hangs, and
//! minimizes failing inputs.

use crate::api::FUNCTIONS;
use crate::execution::{Input, Style, execute};
use crate::progress::Progress;
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Total time that all threads may sleep during one call before the child counts as hung. A total, because some threads
/// wake up periodically to poll.
const HANG_TIMEOUT: Duration = Duration::from_secs(3);
/// CPU time that one call may use before the child counts as hung.
const CPU_LIMIT: Duration = Duration::from_secs(10);
/// Longest time that one poll may add to the sleeping time. A parent that was stopped or had no CPU has not observed
/// the child in between.
const MAX_POLL_GAP: Duration = Duration::from_millis(20);
/// Time limit for minimizing an input.
const SHRINK_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the working directory of the children.
fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("softacl-fuzz-{}", std::process::id()))
}

/// How a child ended.
#[derive(Debug)]
enum ChildExit {
    Passed,
    /// Blocked in a call that waits for something the input made endless.
    Waiting,
    Failed(String),
}

/// Entry point of a child. `seed` is a seed, or `@` and the path of an input.
pub fn child(style: Option<Style>, seed: &str, file: &str) -> Result<(), String> {
    let style = style.ok_or("unknown style")?;
    let counters = open(Path::new(file))?;
    let progress = Progress::open(&counters).map_err(|error| format!("{file}: {error}"))?;
    let (input, verbose) = match seed.strip_prefix('@') {
        Some(path) => (read(Path::new(path))?, std::env::var_os("SOFTACL_FUZZ_VERBOSE").is_some()),
        None => (Input::random(style, seed.parse().map_err(|_| "not a seed")?), false),
    };
    execute(&input, progress, verbose)
}

/// Executes a stored input in a child and prints its calls.
pub fn replay(path: &Path) -> Result<(), String> {
    let path = fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let run_directory = RunDirectory::new()?;
    let end = run_directory.run(read(&path)?.style, &format!("@{}", path.display()), true)?;
    eprint!("{}", run_directory.last_output());
    match end {
        ChildExit::Failed(why) => Err(why),
        _ => Ok(()),
    }
}

/// Executes random inputs, with consecutive seeds, until the time is up or one fails.
pub fn fuzz(style: Style, time: Duration, seed: u64) -> Result<(), String> {
    let run_directory = RunDirectory::new()?;
    let start = Instant::now();
    let (mut processes, mut programs, mut calls, mut waiting) = (0u64, 0, 0, 0);
    let mut counts = vec![(0u64, 0u64); FUNCTIONS.len()];
    let mut failure = None;
    while start.elapsed() < time && failure.is_none() {
        let input_seed = seed.wrapping_add(processes);
        let end = run_directory.run(style, &input_seed.to_string(), false)?;
        processes += 1;
        programs += run_directory.progress.programs();
        calls += run_directory.progress.calls();
        for (index, count) in counts.iter_mut().enumerate() {
            let (called, succeeded) = run_directory.progress.of(index);
            *count = (count.0 + called, count.1 + succeeded);
        }
        match end {
            ChildExit::Passed => {}
            ChildExit::Waiting => waiting += 1,
            ChildExit::Failed(why) => failure = Some((input_seed, why)),
        }
    }
    let called = counts.iter().filter(|count| count.0 > 0).count();
    let succeeded = counts.iter().filter(|count| count.1 > 0).count();
    println!(
        "fuzz {}: {processes} processes, {programs} programs, {calls} calls of {called} functions \
         ({succeeded} succeeded), {waiting} blocked in a wait, {:.0} s, seeds {seed} to {}",
        style.name(),
        start.elapsed().as_secs_f64(),
        seed + processes
    );
    if std::env::var_os("SOFTACL_FUZZ_COUNTS").is_some() {
        for (function, (called, succeeded)) in FUNCTIONS.iter().zip(&counts) {
            println!("{called:>8} {succeeded:>8} {}", function.name);
        }
    }
    match failure {
        None => Ok(()),
        Some((input_seed, why)) => Err(run_directory.explain(style, input_seed, &why)?),
    }
}

/// Working directory of the children, with the counters of the current one.
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

    /// Returns the stderr of the last child.
    fn last_output(&self) -> String {
        let bytes = fs::read(self.directory.join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs one child until it exits or hangs.
    fn run(&self, style: Style, seed: &str, verbose: bool) -> Result<ChildExit, String> {
        let failed = |error: std::io::Error| format!("could not start a process: {error}");
        let stderr = File::create(self.directory.join("stderr")).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["child", style.name(), seed]).arg(self.directory.join("counters"));
        let is_stored = seed.starts_with('@');
        command.env("SOFTACL_MEMORY", "256MiB").env("SOFTACL_PROGRESS_TIMEOUT_MS", "5").env_remove("SOFTACL_LOG");
        if !is_stored && std::env::var_os("SOFTACL_SCHEDULE").is_none() {
            command.env("SOFTACL_SCHEDULE", schedule_of(seed));
        }
        if verbose {
            command.env("SOFTACL_FUZZ_VERBOSE", "1");
        }
        command.current_dir(&self.directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        self.progress.clear();
        let mut process = command.spawn().map_err(failed)?;
        let (mut last_calls, mut asleep, mut polled, mut cpu_time) =
            (u64::MAX, Duration::ZERO, Instant::now(), Duration::ZERO);
        loop {
            if let Some(status) = process.try_wait().map_err(failed)? {
                return Ok(self.evaluate(status));
            }
            let calls = self.progress.calls();
            let state = ProcessState::of(process.id());
            if calls != last_calls {
                (last_calls, asleep, cpu_time) = (calls, Duration::ZERO, state.cpu_time);
            }
            if state.is_asleep {
                asleep += polled.elapsed().min(MAX_POLL_GAP);
            }
            polled = Instant::now();
            if asleep > HANG_TIMEOUT || state.cpu_time.saturating_sub(cpu_time) > CPU_LIMIT {
                let name = self.progress.function().map_or("no call", |index| FUNCTIONS[index].name);
                process.kill().map_err(failed)?;
                process.wait().map_err(failed)?;
                return Ok(if may_wait_forever(name) {
                    ChildExit::Waiting
                } else {
                    ChildExit::Failed(format!("{name} does not return"))
                });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the result of a child that exited.
    fn evaluate(&self, status: ExitStatus) -> ChildExit {
        let stderr = self.last_output();
        if let Some(line) = stderr.lines().find(|line| line.contains("panicked at") || line.contains("Sanitizer")) {
            return ChildExit::Failed(line.to_owned());
        }
        if status.success() {
            return ChildExit::Passed;
        }
        let last = self.progress.function().map_or("no call", |index| FUNCTIONS[index].name);
        match status.signal() {
            Some(signal) => ChildExit::Failed(format!("signal {signal} in {last}")),
            None => {
                ChildExit::Failed(format!("{last}: {}", stderr.lines().last().unwrap_or("it exited without output")))
            }
        }
    }

    /// Minimizes a failing input and writes it to a file in the current directory. Returns the full report.
    fn explain(&self, style: Style, seed: u64, why: &str) -> Result<String, String> {
        // Candidates are files, so the schedule that belongs to the seed must be set explicitly.
        let schedule = std::env::var("SOFTACL_SCHEDULE").unwrap_or_default();
        let schedule = if schedule.is_empty() { schedule_of(&seed.to_string()).to_owned() } else { schedule };
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var("SOFTACL_SCHEDULE", &schedule) };
        let whole = Input::random(style, seed);
        let path = std::env::current_dir().map_err(|error| error.to_string())?.join(format!("fuzz-{seed}.txt"));
        let candidate = self.directory.join("candidate");
        let fails = |input: &Input| -> bool {
            fs::write(&candidate, input.write()).is_ok()
                && matches!(self.run(style, &format!("@{}", candidate.display()), false), Ok(ChildExit::Failed(_)))
        };
        let small = shrink(&whole, fails);
        fs::write(&path, small.write()).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(&candidate, small.write()).map_err(|error| error.to_string())?;
        let again = self.run(style, &format!("@{}", candidate.display()), true)?;
        Ok(format!(
            "seed {seed} on schedule {schedule}: {why}\nminimized from {} to {} calls, in {}; result: {again:?}\n{}",
            whole.calls(),
            small.calls(),
            path.display(),
            self.last_output()
        ))
    }
}

/// Returns the schedule that a seed runs on.
fn schedule_of(seed: &str) -> &'static str {
    const SCHEDULES: [&str; 5] = ["threads", "threads", "early", "late", "random:1"];
    let hash = seed.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    SCHEDULES[hash as usize % SCHEDULES.len()]
}

/// Removes programs and calls as long as the input still fails.
fn shrink(whole: &Input, fails: impl Fn(&Input) -> bool) -> Input {
    let end = Instant::now() + SHRINK_TIMEOUT;
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

/// State of a process according to the system. Wall-clock time alone does not indicate a hang: on a busy host a
/// runnable thread may get no CPU for seconds.
struct ProcessState {
    /// True if all threads sleep.
    is_asleep: bool,
    /// CPU time of all threads.
    cpu_time: Duration,
}

impl ProcessState {
    fn of(process: u32) -> ProcessState {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let mut state = ProcessState { is_asleep: true, cpu_time: Duration::ZERO };
        for thread in threads {
            // After the name, which ends with the last bracket: the state, and as fields 14 and 15 ticks of 10 ms.
            let text = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let mut fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
            state.is_asleep &= fields.next().is_none_or(|letter| letter == "S");
            let ticks: u64 = fields.skip(10).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
            state.cpu_time += Duration::from_millis(10 * ticks);
        }
        state
    }
}

/// True for calls that may wait forever because of what the input did before.
fn may_wait_forever(name: &str) -> bool {
    let waiting =
        ["Synchronize", "Memcpy", "Memset", "ProcessReport", "Free", "Destroy", "Reset", "Execute", "Finalize"];
    name == "no call" || waiting.iter().any(|part| name.contains(part))
}

/// Reads a stored input.
fn read(path: &Path) -> Result<Input, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Input::read(&text).ok_or_else(|| format!("{}: not an input of the fuzzer", path.display()))
}

/// Opens the file of the counters, creating it if necessary.
fn open(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| format!("{}: {error}", path.display()))
}
