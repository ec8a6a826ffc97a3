//! Runs the program once and collects the reports of its processes.

use super::arguments::{Arguments, OnHang};
use super::processes::is_running;
use super::timer::Timer;
use super::{gdb, interposer};
use crate::{output, signals};
use anyhow::{Context, Result};
use softacl_checker::finding::Report;
use softacl_checker::picture::Picture;
use softacl_checker::report::suppression::Suppressions;
use softacl_checker::report::{Outcome, compare_processes, slow_rank};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Prefix of temporary report directories.
pub const PREFIX: &str = "softacl-check-";

const UNCHECKED: &str = "nothing was checked: no process of the program used softacl. Check that the program calls \
                         AscendCL, and that it loads softacl's libascendcl.so through LD_LIBRARY_PATH (no rpath, not \
                         statically linked). --allow-unchecked accepts such a program";

/// Runs the program with a schedule and adds its reports to the outcome. `prepare` may redirect its output.
pub fn run(
    arguments: &Arguments,
    schedule: &str,
    suppressions: &Suppressions,
    outcome: &mut Outcome,
    prepare: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<()> {
    let reports = output::directory(PREFIX)?;
    let mut command = arguments.machine.command()?;
    command.env("SOFTACL_CHECK", "1").env("SOFTACL_CHECK_DIR", reports.path()).env("SOFTACL_SCHEDULE", schedule);
    command.env_remove("SOFTACL_TRACE");
    command.env("SOFTACL_ON_HANG", if arguments.on_hang == OnHang::Wait { "wait" } else { "end" });
    interposer::preload(&mut command, reports.path())?;
    if arguments.gdb {
        command = gdb::wrap(&command)?;
    }
    prepare(&mut command)?;
    let timer = arguments.timeout.map(|limit| (limit, Timer::start(Duration::from_secs(limit), reports.path())));
    let ended = signals::run(&mut command).with_context(|| arguments.machine.spawn_error());
    let expired = timer.and_then(|(limit, timer)| timer.stop().then_some(limit));
    let (pid, status) = ended?;
    let mut found = read(reports.path())?;
    attribute(&mut found);
    let is_complete = found.values().all(Result::is_ok);
    compare_processes(&mut found.values_mut().flatten().collect::<Vec<_>>(), is_complete);
    if let Some(limit) = expired {
        outcome.notes.push(format!("the program was stopped after {limit} s (--timeout)"));
    }
    add_warnings(pid, status, &found, &mut outcome.notes);
    if found.is_empty() && status.signal().is_none() {
        set_unchecked(arguments, outcome);
    }
    let pictures: Vec<&Picture> = found.values().flatten().filter_map(|report| report.waits.as_ref()).collect();
    for picture in pictures.iter().filter(|picture| !picture.is_hang) {
        outcome.notes.push(format!("when it was stopped, {}", picture.summary()));
        outcome.notes.extend(picture.lines().iter().map(|line| format!("process {}: {line}", picture.pid)));
    }
    let slow = slow_rank(&pictures);
    let mut reports: Vec<Report> = found.into_values().flatten().collect();
    if let (Some(finding), Some(last)) = (slow, reports.last_mut()) {
        last.findings.push(finding);
    }
    for report in reports {
        outcome.add(report, suppressions);
    }
    outcome.exit_code = Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    Ok(())
}

/// Records that no process of the program used softacl.
pub(super) fn set_unchecked(arguments: &Arguments, outcome: &mut Outcome) {
    match arguments.allow_unchecked {
        true => outcome.notes.push(UNCHECKED.to_owned()),
        false => outcome.unchecked = Some(UNCHECKED.to_owned()),
    }
}

/// The report of each process by process id, or the reason why it cannot be used.
pub(super) type Found = BTreeMap<u32, Result<Report, String>>;

pub(super) fn read(directory: &Path) -> Result<Found> {
    let mut found = Found::new();
    for entry in fs::read_dir(directory).context("could not read the report directory")? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
        let Some(pid) = name.and_then(|name| name.parse().ok()) else { continue };
        let text = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        // A process creates an empty file at its start and writes the report at its end.
        let report = match text.as_slice() {
            [] if is_running(pid) => Err("is still running".to_owned()),
            [] => Err("ended without a report: it was killed, replaced itself with another program (exec), or called \
                       _exit or exited from a signal handler before anything was proven"
                .to_owned()),
            text => serde_json::from_slice(text).map_err(|error| format!("left an incomplete report: {error}")),
        };
        found.insert(pid, report);
    }
    Ok(found)
}

/// Prefixes lines about fault rules with the process id if several processes have rules.
fn attribute(found: &mut Found) {
    let has_rules = |report: &&Report| !report.faults.is_empty();
    if found.values().flatten().filter(has_rules).count() < 2 {
        return;
    }
    for (pid, report) in found {
        for line in report.iter_mut().flat_map(|report| &mut report.faults) {
            *line = format!("process {pid}: {line}");
        }
    }
}

/// Adds notes that a reader must not overlook: a process without a report was not found to be clean.
fn add_warnings(pid: u32, status: ExitStatus, found: &Found, notes: &mut Vec<String>) {
    if let Some(signal) = status.signal() {
        let report = if matches!(found.get(&pid), Some(Ok(_))) { "" } else { " and left no report" };
        notes.push(format!("the program (process {pid}) was ended by signal {signal}{}{report}", name(signal)));
    }
    for (other, report) in found {
        if let Err(reason) = report
            && !(*other == pid && status.signal().is_some())
        {
            notes.push(format!("process {other} {reason}; this report does not cover it"));
        }
    }
}

/// Returns the name of a common signal in parentheses, or an empty string.
pub fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => " (SIGHUP)",
        libc::SIGQUIT => " (SIGQUIT)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        _ => "",
    }
}
