//! `cargo xtask failpoints`: every fallible point of the demo and of the conformance programs fails once.
//!
//! A clean run counts the points: calls of each function, and what the library asks the system for. Then each
//! point fails in a run of its own, by a fault rule. The program may fail its checks, for that is what they
//! are for; it must not crash, hang, panic inside the library, or leave a runtime that is of no use. A program that
//! waits, after a failed check, for what the refused call would have brought ends itself when it has shown
//! that another thread can use the runtime meanwhile.

use crate::conformance::{
    self, Built, End, clean_environment, command_line, in_parallel, in_parallel_on, quoted, run_into_within,
};
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

#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    pub filter: Option<&'a str>,
    /// Names of kinds of points; none for all.
    pub points: &'a [String],
    /// Points at most of each function, and of each other kind, of a program: see [`chosen`].
    pub max_points: u64,
    /// Which part of the points, of how many.
    pub part: (usize, usize),
}

/// Reads a part such as `2/5`.
pub fn part(text: &str) -> Result<(usize, usize)> {
    let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((part, of)) if (1..=of).contains(&part) => Ok((part, of)),
        _ => anyhow::bail!("--part: {text:?} is not a part such as 2/5"),
    }
}

/// Calls of the interface, as a kind of points.
const CALL: &str = "call";
const REFUSED: &str = "500000";
/// What the library asks the system for, as kinds of points. The rules have the same names.
const REQUESTS: [&str; 5] = ["mmap", "memfd", "mprotect", "thread", "buffer"];
const FAIL: &str = "fail";

/// A number that no run reaches: such a rule only counts.
const NEVER: u64 = 999_999_999;
/// A program that takes longer hangs. A clean run takes a few seconds at most.
const HANG_TIMEOUT: Duration = Duration::from_secs(15);
/// Programs that need gigabytes or minutes, and have nothing that others have not.
const LARGE: [&str; 2] = ["clients/four_gib", "life/cycles"];
/// Points between two lines of progress.
const PROGRESS: usize = 2000;
/// The demo, beside the conformance programs.
const DEMO: &str = "demo/demo";
/// The program with children that may have no byte more of heap: they end when an error has to be told.
const HEAPLESS: &str = "life/limits";
/// The program that is written to survive everything: it has to pass, and it looks for what is left behind.
const STRICT: &str = "faults/cleanup";

/// Something that can fail, by the name that fault rules have for it.
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

    /// Requests and all calls, whatever the function.
    fn few() -> Vec<Source> {
        Source::requests().chain([Source { kind: CALL, name: "acl*", effect: REFUSED }]).collect()
    }

    /// Requests and functions.
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

/// One run: the program, and what fails in it for the n-th time.
struct FailurePoint<'a> {
    program: &'a Built,
    source: Source,
    number: u64,
}

/// How a run ended.
enum Verdict {
    Fine,
    /// The program waited for what was refused, and another thread could use the runtime.
    Waited,
    /// In this run the program did not come to the point.
    Missed,
    /// What was wrong.
    Bad(String),
}

pub fn run(options: &Options<'_>) -> Result<()> {
    for point in options.points {
        let is_known = point == CALL || REQUESTS.contains(&point.as_str());
        ensure!(is_known, "--points: {point:?} is none of {CALL}, {}", REQUESTS.join(", "));
    }
    let started = Instant::now();
    let library = workspace::build_library()?;
    let filter = options.filter.map(str::to_owned);
    let mut programs =
        conformance::built(&conformance::Options { filter, ..workspace::conformance_options(library.clone()) })?;
    programs.push(demo(&library));
    programs.retain(|program| !LARGE.contains(&program.label.as_str()));
    programs.retain(|program| options.filter.is_none_or(|filter| program.label.contains(filter)));
    ensure!(!programs.is_empty(), "no program matches");

    let output = workspace::target().join("failpoints");
    fs::create_dir_all(&output).with_context(|| format!("creating {}", output.display()))?;
    let counts = in_parallel(&programs, |program| match count(program, Source::all(), &output)? {
        // Hundreds of rules are too much for a program that lives without a heap.
        Err(_) => count(program, Source::few(), &output),
        counts => Ok(counts),
    });
    let (mut points, mut left_out, mut failed) = (Vec::new(), 0, 0);
    for (program, counts) in programs.iter().zip(counts) {
        let counts = match counts? {
            Ok(counts) => counts,
            Err(why) => {
                failed += 1;
                println!("FAILED {why}");
                continue;
            }
        };
        let is_wanted = |kind: &str| options.points.is_empty() || options.points.iter().any(|wanted| wanted == kind);
        for (source, count) in counts.into_iter().filter(|(source, _)| is_wanted(source.kind)) {
            let numbers = chosen(count, options.max_points);
            let rest = count - numbers.len() as u64;
            if rest > 0 && options.max_points > 0 {
                println!("{}: {} of {count} x {}", program.label, numbers.len(), source.name);
            }
            left_out += rest;
            points.extend(numbers.into_iter().map(|number| FailurePoint { program, source, number }));
        }
    }
    let (part, of) = options.part;
    let whole = points.len();
    let mut index = 0;
    points.retain(|_| {
        index += 1;
        (index - 1) % of == part - 1
    });
    left_out += (whole - points.len()) as u64;
    println!("{} programs, {} points, {left_out} more left out", programs.len(), points.len());
    let done = AtomicUsize::new(0);
    // Programs that wait for what was refused sleep for seconds.
    let verdicts = in_parallel_on(2, &points, |point| {
        let verdict = point.run(&output);
        // At once: a run of hours may be ended early.
        if let Ok(Verdict::Bad(why)) = &verdict {
            println!("FAILED {} with {}: {why}", point.program.label, point.source.rule(point.number));
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS) {
            println!("{done} of {} points, {:.0} s", points.len(), started.elapsed().as_secs_f64());
        }
        verdict
    });

    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut waited, mut missed) = (0, 0);
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
        "failpoints: {} programs, {} runs ({}), {failed} failed, {waited} waited by their own logic, {missed} did not come to their point, {:.1} s",
        programs.len(),
        points.len(),
        kinds.join(", "),
        started.elapsed().as_secs_f64()
    );
    ensure!(failed == 0, "{failed} points were not survived");
    Ok(())
}

fn demo(library: &Path) -> Built {
    Built { label: DEMO.to_owned(), binary: library.join("softacl"), variables: Vec::new() }
}

/// A program with its variables and a set of rules.
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

/// Which of so many points to run: all, or `most` of them. A program that does something thousands of times does it
/// in a loop, and what is special is at its ends: they are run whole, and what is between them at even distances.
fn chosen(count: u64, most: u64) -> Vec<u64> {
    if count <= most {
        return (1..=count).collect();
    }
    let end = most / 4;
    let between = most - 2 * end;
    let spread = (0..between).map(|step| end + 1 + step * (count - 2 * end) / between);
    (1..=end).chain(spread).chain(count - end + 1..=count).collect()
}

/// Runs a program without faults and counts its points, source by source.
fn count(program: &Built, sources: Vec<Source>, output: &Path) -> Result<Result<Vec<(Source, u64)>, String>> {
    let rules: Vec<String> = sources.iter().map(|source| source.rule(NEVER)).collect();
    let file = output.join(format!("{}-clean.txt", program.label.replace('/', "-")));
    let end = run_into_within(&mut command(program, &rules.join("; ")), &file, 2 * HANG_TIMEOUT)?;
    let text = read(&file)?;
    if !matches!(end, End::Exited(status) if status.success()) {
        return Ok(Err(format!("{} does not pass without faults: {}", program.label, file.display())));
    }
    let last = format!("  rule {} ", sources.len());
    if !text.lines().any(|line| line.starts_with(&last)) {
        return Ok(Err(format!("{} did not tell of its rules: {}", program.label, file.display())));
    }
    // Processes that a program starts count on their own: the busiest one says how far it is worth going.
    let most = |number: usize| {
        let start = format!("  rule {} ", number + 1);
        let lines = text.lines().filter(|line| line.starts_with(&start) && line.ends_with(", never fired"));
        lines.filter_map(matched).max().unwrap_or(0)
    };
    Ok(Ok(sources.iter().enumerate().map(|(number, source)| (*source, most(number))).collect()))
}

/// How often a rule was asked, from its line in the report.
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
                (None, Some(1)) if self.program.label == STRICT => Some("it did not clean up".to_owned()),
                (None, Some(0 | 1)) => judge(&text, &self.program.label),
                (None, code) => Some(format!("exit code {}", code.unwrap_or(-1))),
            },
        };
        match why {
            None => {
                fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
                let has_waited = text.lines().any(|line| line.starts_with("WAITING: "));
                // Who waits is ended without a report; so is who fails before there is a runtime.
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

/// What the output of a program that ended by itself says.
fn judge(text: &str, label: &str) -> Option<String> {
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
    // Each process has its own.
    let mut ends = text.lines().filter_map(|line| line.strip_prefix("AFTERWARDS ")).peekable();
    if ends.peek().is_none() {
        return Some("it did not come to its end".to_owned());
    }
    let is_told = text.contains("could not be set up");
    ends.find(|line| !is_fine(line, is_told)).map(|line| format!("not usable afterwards: {line}"))
}

/// Whether a process could use the runtime at its end, or had a reason not to.
fn is_fine(line: &str, is_told: bool) -> bool {
    let code = line.split(' ').next().unwrap_or_default();
    // 507033: the runtime could not be set up, if that was told at the start. 107022: the program left while it aborted
    // the tasks of the device. 507013: its context stops at the first failure, and it left before it had reset it.
    // 2070nn: it holds all there is.
    matches!(code, "0" | "107022" | "507013")
        || (code == "507033" && is_told)
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
    fn few_points_are_all_run_and_many_at_both_ends_and_between() {
        assert_eq!(chosen(3, 8), [1, 2, 3]);
        assert_eq!(chosen(100, 8), [1, 2, 3, 27, 51, 75, 99, 100]);
        let many = chosen(131_072, 1000);
        assert_eq!((many.len(), many[0], many[999]), (1000, 1, 131_072));
        assert!(many.is_sorted_by(|before, after| before < after));
        assert!(chosen(5, 0).is_empty() && chosen(5, 1) == [1]);
    }
}
