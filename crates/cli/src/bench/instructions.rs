//! Instruction counts of the hot paths, with callgrind: they do not depend on how busy the machine is.
//!
//! A child of this program runs a path N times and another one 2N times; the difference over N is the
//! cost of one call, and whatever happens at the start cancels out. Only the calling thread counts.

use super::case::CaseOutcome;
use super::child;
use super::interleave::{OURS, Series};
use super::session::Session;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::{env, fs};

const CALLS: usize = 2000;
pub const MOST_CALLS: usize = 2 * CALLS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// On a stream that is held up.
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
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, path)| *path).context("no such path")
    }
}

impl Path {
    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, path)| *path == self).map_or("", |(name, _)| name)
    }

    pub fn run(self, stage: &Session) -> Result<CaseOutcome> {
        let once = count(self, CALLS)?;
        stage.tick();
        let twice = count(self, 2 * CALLS)?;
        ensure!(twice > once, "callgrind counted {once} for {CALLS} calls and {twice} for twice as many");
        let samples = vec![(twice - once) as f64 / CALLS as f64];
        let notes = vec!["counted by callgrind, calling thread".to_owned()];
        Ok(CaseOutcome { series: vec![Series { name: OURS, samples }], unit_bytes: 0, verified_bytes: 0, notes })
    }
}

pub fn available() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// A child of this program for a probe.
pub fn child(program: Option<&str>) -> Result<Command> {
    let this = env::current_exe().context("could not find this program's own path")?;
    Ok(match program {
        None => Command::new(this),
        Some(program) => {
            let mut command = Command::new(program);
            command.arg("--tool=callgrind").arg("--separate-threads=yes");
            // Valgrind has too little room for the addresses of large devices.
            command.env("SOFTACL_MEMORY", "1GiB").env("SOFTACL_DEVICES", "1");
            command.env_remove("ASCEND_RT_VISIBLE_DEVICES");
            command.arg(format!("--callgrind-out-file={}", output().display())).arg(this);
            command
        }
    })
}

pub fn arguments(command: &mut Command, name: &str, calls: usize) {
    command.args(["bench", "--probe", name, "--calls", &calls.to_string()]);
}

fn output() -> PathBuf {
    env::temp_dir().join(format!("softacl-callgrind-{}", std::process::id()))
}

/// Instructions of the main thread for a whole run.
fn count(path: Path, calls: usize) -> Result<u64> {
    let mut command = child(Some("valgrind"))?;
    arguments(&mut command, path.name(), calls);
    let done = command.output().context("could not start valgrind")?;
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let found = read_and_remove();
    ensure!(done.status.success(), "valgrind ended with {}: {}", done.status, last_lines(&text));
    let found = found?;
    let line = found.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    let Some(total) = line.and_then(|line| line.split_whitespace().next()?.parse().ok()) else {
        bail!("the output of callgrind has no totals");
    };
    Ok(total)
}

/// The file of the first thread; those of all are removed.
fn read_and_remove() -> Result<String> {
    let prefix = output();
    let first = PathBuf::from(format!("{}-01", prefix.display()));
    let text = fs::read_to_string(&first).with_context(|| format!("callgrind did not write {}", first.display()));
    let directory = prefix.parent().context("no temporary directory")?;
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

/// Processor time that 100 streams cost which have nothing to do, in percent of a core.
pub fn idle(stage: &Session) -> Result<CaseOutcome> {
    let period_ms = if stage.quick { 2000 } else { 10_000 };
    let mut command = child(None)?;
    arguments(&mut command, child::IDLE, period_ms);
    let done = command.stderr(Stdio::inherit()).output().context("could not start a child of this program")?;
    ensure!(done.status.success(), "the idle child ended with {}", done.status);
    let spent: f64 =
        String::from_utf8_lossy(&done.stdout).trim().parse().context("the idle child printed no number")?;
    let samples = vec![100.0 * spent / (period_ms as f64 * 1e6)];
    let notes = vec![format!("{} us of processor time in {} s", (spent / 1e3).round(), period_ms / 1000)];
    Ok(CaseOutcome { series: vec![Series { name: OURS, samples }], unit_bytes: 0, verified_bytes: 8 << 20, notes })
}
