//! Runs the program once and collects the reports of its processes.

use super::arguments::Arguments;
use super::interposer;
use crate::{output, signals};
use anyhow::{Context, Result};
use softacl_checker::finding::Report;
use softacl_checker::report::Outcome;
use softacl_checker::report::suppression::Suppressions;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Prefix of temporary report directories.
pub const PREFIX: &str = "softacl-check-";

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
    interposer::preload(&mut command, reports.path())?;
    prepare(&mut command)?;
    let (pid, status) = signals::run(&mut command).with_context(|| arguments.machine.spawn_error())?;
    let mut found = read(reports.path())?;
    attribute(&mut found);
    add_warnings(pid, status, &found, &mut outcome.notes);
    for report in found.into_values().flatten() {
        outcome.add(report, suppressions);
    }
    outcome.exit_code = Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    Ok(())
}

/// The report of each process by process id, or the reason why it cannot be used.
type Found = BTreeMap<u32, Result<Report, String>>;

fn read(directory: &Path) -> Result<Found> {
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
    if found.is_empty() && status.signal().is_none() {
        notes.push(
            "nothing was checked: no process of the program left a report. Check that the program calls AscendCL, that \
             it loads softacl's libascendcl.so through LD_LIBRARY_PATH (no rpath, not statically linked), and that it \
             does not end with _exit"
                .to_owned(),
        );
    }
}

/// True if the process is still running. Zombies do not count.
fn is_running(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may contain any character.
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
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
