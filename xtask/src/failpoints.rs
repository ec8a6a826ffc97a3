//! `cargo xtask failpoints`: injects one failure per run, at every failure point of the demo and the conformance
//! programs.
//!
//! A run without faults counts the failure points: the calls of each function, and the requests for system resources.
//! Each point then fails in a separate run, by a fault rule. The program may fail its checks. It must not crash, hang,
//! panic inside the library, or leave the runtime unusable. A program that waits, after a failed check, for the effect
//! of the refused call ends after it has verified that another thread can use the runtime.

use crate::conformance::{self, Built, End, clean_environment, command_line, quoted, run_into_within};
use crate::parallel::{in_parallel, in_parallel_on};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use ascendcl_sys::Support;
use ascendcl_sys::manifest::{self, Function};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Selects the programs and the failure points.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Run only programs whose `topic/name` contains this text.
    pub filter: Option<&'a str>,
    /// Kinds of points. Empty selects all.
    pub points: &'a [String],
    /// Maximum number of points of each function, and of each other kind, of a program; see [`chosen`].
    pub max_points: u64,
    /// Part of the points to run: (index from 1, number of parts).
    pub part: (usize, usize),
}

/// Parses a part such as `2/5`.
pub fn part(text: &str) -> Result<(usize, usize)> {
    let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((part, of)) if (1..=of).contains(&part) => Ok((part, of)),
        _ => anyhow::bail!("--part: {text:?} is not of the form 2/5"),
    }
}

/// Kind of the points at API calls.
const CALL: &str = "call";
/// Code that a failing call returns.
const REFUSED: &str = "500000";
/// Kinds of the points at requests for system resources. Fault rules use the same names.
const REQUESTS: [&str; 5] = ["mmap", "memfd", "mprotect", "thread", "buffer"];
/// Effect of a rule for a system resource.
const FAIL: &str = "fail";

/// Match number that no run reaches. A rule with it only counts.
const NEVER: u64 = 999_999_999;
/// Time after which a program counts as hung. A run without faults takes at most a few seconds.
const HANG_TIMEOUT: Duration = Duration::from_secs(15);
/// Programs that need gigabytes or minutes and cover nothing that smaller programs do not.
const LARGE: [&str; 2] = ["clients/four_gib", "life/cycles"];
/// Number of points between two lines of progress.
const PROGRESS_INTERVAL: usize = 2000;
/// Label of the demo, which runs in addition to the conformance programs.
const DEMO: &str = "demo/demo";
/// Program whose children run with an exhausted heap. They end when an error message must be formatted.
const HEAPLESS: &str = "life/limits";
/// Program that must pass at every point. It also verifies that nothing is leaked.
const STRICT: &str = "faults/cleanup";

/// A call or a system resource that can fail, by its name in fault rules.
#[derive(Clone, Copy)]
struct Source {
    kind: &'static str,
    name: &'static str,
    effect: &'static str,
}

impl Source {
    fn requests() -> impl Iterator<Item = Source> {
        REQUESTS.into_iter().map(|name| Source { kind: name, name, effect: FAIL })
    }

    /// System resources, and one source for the calls of all functions.
    fn combined() -> Vec<Source> {
        Source::requests().chain([Source { kind: CALL, name: "acl*", effect: REFUSED }]).collect()
    }

    /// System resources, and one source per function.
    fn all() -> Vec<Source> {
        let can_fail = |function: &&Function| {
            function.has_code() && function.uses_machine() && !matches!(function.state, Support::Absent(_))
        };
        let functions = manifest::FUNCTIONS.iter().filter(can_fail);
        let calls = functions.map(|function| Source { kind: CALL, name: function.name, effect: REFUSED });
        Source::requests().chain(calls).collect()
    }

    fn rule(&self, number: u64) -> String {
        format!("{}@{number}={}", self.name, self.effect)
    }
}

/// One run: the program, and the n-th match of a source that fails in it.
struct FailurePoint<'a> {
    program: &'a Built,
    source: Source,
    number: u64,
}

/// Result of a run.
enum Verdict {
    Fine,
    /// The program waited for the effect of the refused call, and another thread could use the runtime.
    Waited,
    /// The program did not reach the point in this run.
    Missed,
    /// The reason of the failure.
    Bad(String),
}

/// Runs the selected failure points of the selected programs.
///
/// # Errors
///
/// Fails if a program crashes, hangs or leaves the runtime unusable at a point.
pub fn run(options: &Options<'_>) -> Result<()> {
    for point in options.points {
        let is_known = point == CALL || REQUESTS.contains(&point.as_str());
        ensure!(is_known, "--points: {point:?} is none of {CALL}, {}", REQUESTS.join(", "));
    }
    let started = Instant::now();
    let programs = select_programs(options)?;
    let output = workspace::target().join("failpoints");
    fs::create_dir_all(&output).with_context(|| format!("creating {}", output.display()))?;
    let Plan { points, skipped, broken } = plan(&programs, options, &output)?;
    println!("{} programs, {} points, {skipped} skipped", programs.len(), points.len());
    let verdicts = run_points(&points, &output, started);

    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut failed, mut waited, mut missed) = (broken, 0, 0);
    for (point, verdict) in points.iter().zip(verdicts) {
        *runs.entry(point.source.kind).or_default() += 1;
        match verdict? {
            Verdict::Fine => {}
            Verdict::Waited => waited += 1,
            Verdict::Missed => missed += 1,
            Verdict::Bad(_) => failed += 1,
        }
    }
    let kinds: Vec<String> = runs.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    println!(
        "failpoints: {} programs, {} runs ({}), {failed} failed, {waited} waited, {missed} did not reach their point, \
         {:.1} s",
        programs.len(),
        points.len(),
        kinds.join(", "),
        started.elapsed().as_secs_f64()
    );
    ensure!(failed == 0, "{failed} failure points failed");
    Ok(())
}

/// Builds the library, the conformance programs and the demo, and returns the selected ones.
fn select_programs(options: &Options<'_>) -> Result<Vec<Built>> {
    let library = workspace::build_library()?;
    let filter = options.filter.map(str::to_owned);
    let mut programs =
        conformance::built(&conformance::Options { filter, ..workspace::conformance_options(library.clone()) })?;
    programs.push(demo(&library));
    programs.retain(|program| !LARGE.contains(&program.label.as_str()));
    programs.retain(|program| options.filter.is_none_or(|filter| program.label.contains(filter)));
    ensure!(!programs.is_empty(), "no program matches");
    Ok(programs)
}

/// Failure points to run.
struct Plan<'a> {
    points: Vec<FailurePoint<'a>>,
    /// Number of points that `--max-points` or `--part` excludes.
    skipped: u64,
    /// Number of programs that fail without faults.
    broken: usize,
}

/// Counts the points of every program and selects those to run.
fn plan<'a>(programs: &'a [Built], options: &Options<'_>, output: &Path) -> Result<Plan<'a>> {
    println!("counting the failure points of {} programs", programs.len());
    let counts = in_parallel(programs, |program| match count(program, Source::all(), output)? {
        // Hundreds of rules do not fit a program that runs with an exhausted heap.
        Err(_) => count(program, Source::combined(), output),
        counts => Ok(counts),
    });
    let (mut points, mut skipped, mut broken) = (Vec::new(), 0, 0);
    for (program, counts) in programs.iter().zip(counts) {
        let counts = match counts? {
            Ok(counts) => counts,
            Err(why) => {
                broken += 1;
                println!("FAILED {why}");
                continue;
            }
        };
        let is_selected =
            |kind: &str| options.points.is_empty() || options.points.iter().any(|selected| selected == kind);
        for (source, count) in counts.into_iter().filter(|(source, _)| is_selected(source.kind)) {
            let numbers = chosen(count, options.max_points);
            let rest = count - numbers.len() as u64;
            if rest > 0 && options.max_points > 0 {
                println!("{}: {} of {count} x {}", program.label, numbers.len(), source.name);
            }
            skipped += rest;
            points.extend(numbers.into_iter().map(|number| FailurePoint { program, source, number }));
        }
    }
    let (part, of) = options.part;
    let total = points.len();
    let mut index = 0;
    points.retain(|_| {
        index += 1;
        (index - 1) % of == part - 1
    });
    skipped += (total - points.len()) as u64;
    Ok(Plan { points, skipped, broken })
}

/// Runs the points in parallel, and prints failures and progress.
fn run_points(points: &[FailurePoint<'_>], output: &Path, started: Instant) -> Vec<Result<Verdict>> {
    let done = AtomicUsize::new(0);
    // Programs that wait for the effect of a refused call sleep for seconds.
    in_parallel_on(2, points, |point| {
        let verdict = point.run(output);
        // Print immediately: a run of hours may be interrupted.
        if let Ok(Verdict::Bad(why)) = &verdict {
            println!("FAILED {} with {}: {why}", point.program.label, point.source.rule(point.number));
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS_INTERVAL) {
            println!("{done} of {} points, {:.0} s", points.len(), started.elapsed().as_secs_f64());
        }
        verdict
    })
}

fn demo(library: &Path) -> Built {
    Built { label: DEMO.to_owned(), binary: library.join("softacl"), variables: Vec::new() }
}

/// Returns the command that runs a program with fault rules.
fn command(program: &Built, rules: &str) -> Command {
    let mut command = Command::new(&program.binary);
    if program.label == DEMO {
        command.args(["demo", "--blocks", "64"]);
    }
    clean_environment(&mut command, false);
    command.envs(program.variables.iter().map(|(name, value)| (name, value)));
    command.env("SOFTACL_FAULTS", rules).env("CONFORMANCE_AFTERWARDS", "1");
    command
}

/// Selects at most `max_points` of `count` points. Programs reach thousands of points in loops, whose first and last
/// iterations are special: a quarter of the points is taken from each end, and the rest evenly from between.
fn chosen(count: u64, max_points: u64) -> Vec<u64> {
    if count <= max_points {
        return (1..=count).collect();
    }
    let end = max_points / 4;
    let between = max_points - 2 * end;
    let spread = (0..between).map(|step| end + 1 + step * (count - 2 * end) / between);
    (1..=end).chain(spread).chain(count - end + 1..=count).collect()
}

/// Runs a program without faults and returns the number of points of each source.
fn count(program: &Built, sources: Vec<Source>, output: &Path) -> Result<Result<Vec<(Source, u64)>, String>> {
    let rules: Vec<String> = sources.iter().map(|source| source.rule(NEVER)).collect();
    let file = output.join(format!("{}-clean.txt", program.label.replace('/', "-")));
    let end = run_into_within(&mut command(program, &rules.join("; ")), &file, 2 * HANG_TIMEOUT)?;
    let text = read(&file)?;
    if !matches!(end, End::Exited(status) if status.success()) {
        return Ok(Err(format!("{} fails without faults: {}", program.label, file.display())));
    }
    let last = format!("  rule {} ", sources.len());
    if !text.lines().any(|line| line.starts_with(&last)) {
        return Ok(Err(format!("{} printed no fault summary: {}", program.label, file.display())));
    }
    // Child processes count separately. The process with the most matches decides.
    let max_matches = |number: usize| {
        let start = format!("  rule {} ", number + 1);
        let lines = text.lines().filter(|line| line.starts_with(&start) && line.ends_with(", never fired"));
        lines.filter_map(matched).max().unwrap_or(0)
    };
    Ok(Ok(sources.iter().enumerate().map(|(number, source)| (*source, max_matches(number))).collect()))
}

/// Returns the number of matches from a line of the fault summary.
fn matched(line: &str) -> Option<u64> {
    let before = line.strip_suffix(", never fired")?;
    before.split_whitespace().rev().nth(1)?.parse().ok()
}

impl FailurePoint<'_> {
    /// Runs the program with this point failing.
    fn run(&self, output: &Path) -> Result<Verdict> {
        let name = format!(
            "{}-{}-{}.txt",
            self.program.label.replace('/', "-"),
            self.source.name.trim_end_matches('*'),
            self.number
        );
        let file: PathBuf = output.join(name);
        let rule = self.source.rule(self.number);
        let mut command = command(self.program, &rule);
        let end = run_into_within(&mut command, &file, HANG_TIMEOUT)?;
        let text = read(&file)?;
        let why = match end {
            End::TimedOut => Some(format!("still running after {} s", HANG_TIMEOUT.as_secs())),
            End::Exited(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => Some(format!("ended by signal {signal}")),
                (None, Some(1)) if self.program.label == STRICT => Some("it did not pass".to_owned()),
                (None, Some(0 | 1)) => output_error(&text, &self.program.label),
                (None, code) => Some(format!("exit code {}", code.unwrap_or(-1))),
            },
        };
        match why {
            None => {
                fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
                let has_waited = text.lines().any(|line| line.starts_with("WAITING: "));
                // A program that waits ends without a summary, and so does one that fails before initialization.
                let has_missed = text.contains(", never fired") && !text.contains(" fired once");
                Ok(match (has_waited, has_missed) {
                    (true, _) => Verdict::Waited,
                    (false, true) => Verdict::Missed,
                    (false, false) => Verdict::Fine,
                })
            }
            Some(why) => {
                let rule = quoted(&rule);
                let words: Vec<String> = self
                    .program
                    .variables
                    .iter()
                    .map(|(name, value)| format!("{name}={}", quoted(&value.to_string_lossy())))
                    .collect();
                let repeat = format!("{} SOFTACL_FAULTS={rule} {}", words.join(" "), command_line(&command));
                Ok(Verdict::Bad(format!("{why}\n  output: {}\n  repeat: {repeat}", file.display())))
            }
        }
    }
}

/// Returns the error that the output of a finished program shows.
fn output_error(text: &str, label: &str) -> Option<String> {
    let has_no_heap = label == HEAPLESS && text.contains("memory allocation of ");
    for bad in ["a panic was caught", "panicked at", "internal error", "CRASHED: "] {
        let is_bad = |line: &&str| line.contains(bad) && !line.contains("fault rule");
        if let Some(line) = text.lines().find(is_bad).filter(|_| !(bad == "CRASHED: " && has_no_heap)) {
            return Some(line.to_owned());
        }
    }
    if label == DEMO {
        return None;
    }
    // Each process prints one line.
    let mut ends = text.lines().filter_map(|line| line.strip_prefix("AFTERWARDS ")).peekable();
    if ends.peek().is_none() {
        return Some("it did not reach its end".to_owned());
    }
    let setup_failed = text.contains("could not be set up");
    ends.find(|line| !is_usable(line, setup_failed)).map(|line| format!("the runtime is unusable: {line}"))
}

/// Returns `true` if a process could use the runtime at its end, or has a valid reason not to.
fn is_usable(line: &str, setup_failed: bool) -> bool {
    let code = line.split(' ').next().unwrap_or_default();
    // 507033: the runtime could not be set up, which was reported at the start. 107022: the program ended while it
    // aborted the tasks of the device. 507013: its context stops at the first failure, and the program ended before it
    // reset the context. 2070nn: the program holds all of a resource.
    matches!(code, "0" | "107022" | "507013")
        || (code == "507033" && setup_failed)
        || (code.starts_with("2070") && code != "207000")
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_above_the_limit_are_taken_from_both_ends_and_between() {
        assert_eq!(chosen(3, 8), [1, 2, 3]);
        assert_eq!(chosen(100, 8), [1, 2, 3, 27, 51, 75, 99, 100]);
        let many = chosen(131_072, 1000);
        assert_eq!((many.len(), many[0], many[999]), (1000, 1, 131_072));
        assert!(many.is_sorted_by(|before, after| before < after));
        assert!(chosen(5, 0).is_empty() && chosen(5, 1) == [1]);
    }
}
