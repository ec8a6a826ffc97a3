//! Instruction counts of the hot paths, measured with callgrind. They do not depend on the load of the host.
//!
//! One child process runs a path N times and another one 2N times. The difference divided by N is the cost of one call;
//! the cost of startup cancels out. Only the calling thread is counted.

use super::interleave::{OURS, Series};
use super::outcome::CaseOutcome;
use super::probe;
use super::session::Session;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::{env, fs};

const CALLS: usize = 2000;
pub const MAX_CALLS: usize = 2 * CALLS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// On a blocked stream.
    Submit,
    /// On an idle stream.
    SubmitIdle,
    SubmitAndSynchronize,
    BatchEntry,
    AllocateAndFree,
}

const NAMES: [(&str, Path); 5] = [
    ("submit", Path::Submit),
    ("submit-idle", Path::SubmitIdle),
    ("sync", Path::SubmitAndSynchronize),
    ("batch", Path::BatchEntry),
    ("malloc", Path::AllocateAndFree),
];

impl FromStr for Path {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Path> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, path)| *path)
            .with_context(|| format!("{name:?} is not a path"))
    }
}

impl Path {
    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, path)| *path == self).map_or("", |(name, _)| name)
    }

    pub fn run(self, session: &Session) -> Result<CaseOutcome> {
        let once = count(self, CALLS)?;
        session.tick();
        let twice = count(self, 2 * CALLS)?;
        ensure!(twice > once, "callgrind counted {once} instructions for {CALLS} calls and {twice} for twice as many");
        let samples = vec![(twice - once) as f64 / CALLS as f64];
        let notes = vec!["counted by callgrind, calling thread".to_owned()];
        Ok(CaseOutcome { series: vec![Series { name: OURS, samples }], unit_bytes: 0, verified_bytes: 0, notes })
    }
}

pub fn available() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns a command that starts this program again under callgrind.
fn under_callgrind() -> Result<Command> {
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg("--separate-threads=yes");
    // The address space under valgrind is too small for large devices.
    command.env("SOFTACL_MEMORY", "1GiB").env("SOFTACL_DEVICES", "1");
    command.env_remove("ASCEND_RT_VISIBLE_DEVICES");
    command.arg(format!("--callgrind-out-file={}", output_prefix().display())).arg(probe::this_program()?);
    Ok(command)
}

fn output_prefix() -> PathBuf {
    env::temp_dir().join(format!("softacl-callgrind-{}", std::process::id()))
}

/// Instructions of the main thread for a whole run.
fn count(path: Path, calls: usize) -> Result<u64> {
    let mut command = under_callgrind()?;
    probe::arguments(&mut command, path.name(), calls);
    let output = command.output().context("could not start valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let found = read_and_remove();
    ensure!(output.status.success(), "valgrind ended with {}: {}", output.status, last_lines(&text));
    let found = found?;
    let line = found.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    let Some(total) = line.and_then(|line| line.split_whitespace().next()?.parse().ok()) else {
        bail!("the output of callgrind contains no totals");
    };
    Ok(total)
}

/// Reads the file of the first thread and removes the files of all threads.
fn read_and_remove() -> Result<String> {
    let prefix = output_prefix();
    let first = PathBuf::from(format!("{}-01", prefix.display()));
    let text = fs::read_to_string(&first).with_context(|| format!("callgrind did not write {}", first.display()));
    let directory = prefix.parent().context("the temporary directory has no parent")?;
    let name = prefix.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    text
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

/// Measures the processor time of 100 idle streams, in percent of a core.
pub fn idle(session: &Session) -> Result<CaseOutcome> {
    let period_ms = if session.quick { 2000 } else { 10_000 };
    let mut command = Command::new(probe::this_program()?);
    probe::arguments(&mut command, probe::IDLE, period_ms);
    let output = command.stderr(Stdio::inherit()).output().context("could not start a child process")?;
    ensure!(output.status.success(), "the child process ended with {}", output.status);
    let spent: f64 =
        String::from_utf8_lossy(&output.stdout).trim().parse().context("the child process did not print a number")?;
    let samples = vec![100.0 * spent / (period_ms as f64 * 1e6)];
    let notes = vec![format!("{} us of processor time in {} s", (spent / 1e3).round(), period_ms / 1000)];
    Ok(CaseOutcome { series: vec![Series { name: OURS, samples }], unit_bytes: 0, verified_bytes: 8 << 20, notes })
}
