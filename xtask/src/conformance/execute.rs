//! Runs one conformance program on one product and schedule, with a timeout, and evaluates the result.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::build::{Toolchain, command_line, quoted};
use super::directives::{Directives, Form};
use super::options::{Observer, Sanitizer};
use super::program::Program;
use super::traces;
use crate::files::entries;
use crate::workspace::PROGRESS_TIMEOUT_VARIABLE;

/// Maximum duration of a run.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum duration of a run in valgrind, which is many times slower.
const SLOW_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum time that one polling interval adds to the measured duration.
const MAX_POLL_TIME: Duration = Duration::from_millis(100);

/// A program, with the product, its form and the schedule to run it on.
#[derive(Debug)]
pub struct ProgramRun<'p> {
    pub program: &'p Program,
    /// `None` on a card.
    pub soc: Option<String>,
    pub form: Form,
    pub schedule: Option<String>,
}

/// Result of a run.
#[derive(Debug)]
pub enum RunOutcome {
    Passed,
    Failed { reason: String, output: String, repeat: String },
}

impl RunOutcome {
    /// Returns the report of a failure: reason, output, and the command that repeats the run.
    pub fn report(&self) -> Option<String> {
        match self {
            RunOutcome::Passed => None,
            RunOutcome::Failed { reason, output, repeat } => {
                Some(format!("  {reason}\n{}\n  repeat: {repeat}", output.trim_end()))
            }
        }
    }
}

impl ProgramRun<'_> {
    pub fn title(&self) -> String {
        let mut title = format!("FAILED {}", self.program.label());
        for part in [self.soc.as_deref(), self.form.variable(), self.schedule.as_deref()].into_iter().flatten() {
            title.push(' ');
            title.push_str(part);
        }
        title
    }

    pub fn execute(&self, toolchain: &Toolchain) -> Result<RunOutcome> {
        let output = toolchain.directory.join("output");
        fs::create_dir_all(&output).with_context(|| format!("creating {}", output.display()))?;
        let name = format!(
            "{}-{}-{}-{}-{}.txt",
            self.program.topic,
            self.program.name,
            self.soc.as_deref().unwrap_or("card"),
            self.form.variable().unwrap_or("EP"),
            self.schedule.as_deref().unwrap_or("threads").replace(':', "-")
        );
        let reports = output.join(format!("{name}.reports"));
        let output = output.join(name);
        let mut variables = self.variables(toolchain);
        if let Some(observer) = toolchain.options.observer {
            // Remove the reports of earlier runs.
            let _ = fs::remove_dir_all(&reports);
            fs::create_dir_all(&reports).with_context(|| format!("creating {}", reports.display()))?;
            match observer {
                Observer::Checker(_) => {
                    variables.push(("LD_PRELOAD".into(), toolchain.interposer().into()));
                    variables.push(("SOFTACL_CHECK".into(), "1".into()));
                    variables.push(("SOFTACL_CHECK_DIR".into(), reports.clone().into()));
                }
                Observer::Tracer => {
                    variables.push(("SOFTACL_TRACE".into(), reports.join("%p.json").into()));
                    variables.push(("SOFTACL_TRACE_LIMIT".into(), traces::EVENT_LIMIT.into()));
                }
            }
        }
        let mut command = launcher(toolchain, &toolchain.binary(self.program));
        let repeat = repeat_line(&variables, &command);
        clean_environment(&mut command, toolchain.options.real_hardware);
        command.envs(variables.iter().map(|(name, value)| (name, value)));

        let is_slow = toolchain.options.sanitizer == Some(Sanitizer::Valgrind);
        let timeout = if is_slow { SLOW_TIMEOUT } else { TIMEOUT };
        let end = run_into_within(&mut command, &output, timeout)?;
        let text =
            String::from_utf8_lossy(&fs::read(&output).with_context(|| format!("reading {}", output.display()))?)
                .into_owned();
        let verdict = format!("PASS {} (", self.program.label());
        let reason = match end {
            End::TimedOut => format!("still running after {} s", timeout.as_secs()),
            End::Exited(status) if status.success() && text.lines().any(|line| line.starts_with(&verdict)) => {
                let error = match toolchain.options.observer {
                    None => None,
                    Some(Observer::Checker(_)) => self.check_findings(&reports)?,
                    Some(Observer::Tracer) => traces::first_error(&reports)?,
                };
                match error {
                    None => return Ok(RunOutcome::Passed),
                    Some(reason) => reason,
                }
            }
            End::Exited(status) => describe(status),
        };
        Ok(RunOutcome::Failed { reason, output: text, repeat })
    }

    /// Compares the proven findings and the counts of what was not judged with the directives. Returns what is undeclared
    /// or missing.
    fn check_findings(&self, directory: &Path) -> Result<Option<String>> {
        let Directives { expects, must_find, must_count, .. } = &self.program.directives;
        let (mut undeclared, mut missed, mut uncounted) = (Vec::new(), must_find.clone(), must_count.clone());
        for report in entries(directory)? {
            let text = fs::read_to_string(&report).with_context(|| format!("reading {}", report.display()))?;
            // The process ended without running exit handlers.
            if text.is_empty() {
                continue;
            }
            let report: serde_json::Value = serde_json::from_str(&text).context("parsing a checker report")?;
            let findings = report["findings"].as_array().context("a report has no findings")?;
            for finding in findings.iter().filter(|finding| finding["severity"] == "PROVEN") {
                let id = finding["id"].as_str().context("a finding has no id")?;
                missed.retain(|expected| expected != id);
                if !expects.iter().chain(must_find).any(|declared| declared == id) {
                    undeclared.push(format!("{id}: {}", finding["message"].as_str().unwrap_or_default()));
                }
            }
            let unjudged = report["unjudged"].as_array().context("a report has no list of what was not judged")?;
            uncounted.retain(|id| count_unjudged(unjudged, id) == 0);
        }
        if !missed.is_empty() {
            return Ok(Some(format!("must-find, but not proven: {}", missed.join(" "))));
        }
        if !uncounted.is_empty() {
            return Ok(Some(format!("must-count, but nothing is counted as not judged: {}", uncounted.join(" "))));
        }
        Ok((!undeclared.is_empty())
            .then(|| format!("proven, but not declared with `expects`:\n    {}", undeclared.join("\n    "))))
    }

    pub fn variables(&self, toolchain: &Toolchain) -> Vec<(String, OsString)> {
        let mut variables = vec![("LD_LIBRARY_PATH".to_string(), library_path(toolchain))];
        if let Some(soc) = &self.soc {
            variables.push(("SOFTACL_SOC".into(), soc.into()));
        }
        if let Some(form) = self.form.variable() {
            variables.push(("SOFTACL_FORM".into(), form.into()));
        }
        if let Some(schedule) = &self.schedule {
            variables.push(("SOFTACL_SCHEDULE".into(), schedule.into()));
            // Programs that wait for a host function without making calls continue soon.
            variables.push((PROGRESS_TIMEOUT_VARIABLE.into(), "20".into()));
        }
        variables.extend(sanitizer_variables(toolchain.options.sanitizer));
        for (name, value) in &self.program.directives.environment {
            if !toolchain.options.real_hardware || !name.starts_with("SOFTACL_") {
                variables.push((name.clone(), value.into()));
            }
        }
        variables
    }
}

/// How many operations a report counts as not judged for a finding.
fn count_unjudged(unjudged: &[serde_json::Value], id: &str) -> u64 {
    let concerns =
        |entry: &&serde_json::Value| entry["findings"].as_array().is_some_and(|ids| ids.iter().any(|one| one == id));
    unjudged.iter().filter(concerns).filter_map(|entry| entry["count"].as_u64()).sum()
}

/// Environment variables of the sanitizer runtimes.
pub fn sanitizer_variables(sanitizer: Option<Sanitizer>) -> Vec<(String, OsString)> {
    match sanitizer {
        None => Vec::new(),
        Some(Sanitizer::Address) => vec![("ASAN_OPTIONS".into(), "detect_leaks=1".into())],
        // Valgrind has little address space and shadows every writable byte.
        Some(Sanitizer::Valgrind) => {
            vec![("SOFTACL_MEMORY".into(), "256MiB".into()), ("SOFTACL_HOST_MEMORY".into(), "256MiB".into())]
        }
        Some(Sanitizer::Undefined) => {
            vec![("UBSAN_OPTIONS".into(), "halt_on_error=1,print_stacktrace=1".into())]
        }
        // The library is not instrumented, so ThreadSanitizer cannot observe its synchronization. Ignore memory that
        // only the library accesses; races between threads of the program are still reported.
        Some(Sanitizer::Thread) => {
            vec![(
                "TSAN_OPTIONS".into(),
                "halt_on_error=0,exitcode=66,ignore_noninstrumented_modules=1,atexit_sleep_ms=0".into(),
            )]
        }
    }
}

/// Returns the command that starts a binary.
pub fn launcher(toolchain: &Toolchain, binary: &Path) -> Command {
    let runner = toolchain.options.target.as_deref().and_then(runner);
    let mut words: Vec<OsString> = match &runner {
        Some(runner) => runner.split_whitespace().map(OsString::from).collect(),
        None => toolchain.options.sanitizer.map_or(&[][..], Sanitizer::launcher).iter().map(OsString::from).collect(),
    };
    words.push(binary.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Returns cargo's runner for a target.
fn runner(triple: &str) -> Option<String> {
    let name = format!("CARGO_TARGET_{}_RUNNER", triple.to_uppercase().replace('-', "_"));
    env::var(name).ok().filter(|runner| !runner.trim().is_empty())
}

/// Returns `LD_LIBRARY_PATH` with the library and, on a card, its dependencies.
pub fn library_path(toolchain: &Toolchain) -> OsString {
    let mut path = toolchain.options.library_dir.clone().into_os_string();
    if let Some(inherited) = env::var_os("LD_LIBRARY_PATH").filter(|value| !value.is_empty()) {
        path.push(":");
        path.push(inherited);
    }
    path
}

/// Removes variables that affect the library. A card keeps the variables of its installation.
pub fn clean_environment(command: &mut Command, real_hardware: bool) {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let installation = name.starts_with("ASCEND_") && name != "ASCEND_RT_VISIBLE_DEVICES";
        if name.starts_with("SOFTACL_") || (name.starts_with("ASCEND_") && !(real_hardware && installation)) {
            command.env_remove(name);
        }
    }
}

/// End of a process.
pub enum End {
    Exited(ExitStatus),
    TimedOut,
}

/// Runs a command with its output in a file, and kills it after [`TIMEOUT`].
pub fn run_into(command: &mut Command, output: &Path) -> Result<End> {
    run_into_within(command, output, TIMEOUT)
}

/// Runs a command with its output in a file, and kills it and its children after `timeout`.
pub fn run_into_within(command: &mut Command, output: &Path, timeout: Duration) -> Result<End> {
    let file = File::create(output).with_context(|| format!("creating {}", output.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.process_group(0).spawn().with_context(|| format!("starting {}", command_line(command)))?;
    // Count at most MAX_POLL_TIME per interval, so that time during which this process is stopped does not count.
    let (mut waited, mut last_poll) = (Duration::ZERO, Instant::now());
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                // Its children may wait for it.
                signal_group(&child)?;
            }
            return Ok(End::Exited(status));
        }
        waited += last_poll.elapsed().min(MAX_POLL_TIME);
        last_poll = Instant::now();
        if waited >= timeout {
            end_group(&mut child)?;
            return Ok(End::TimedOut);
        }
        thread::park_timeout(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Kills a process and its children.
fn end_group(child: &mut Child) -> Result<()> {
    if !signal_group(child)? {
        child.kill().context("killing a run that timed out")?;
    }
    child.wait().context("waiting for a killed run")?;
    Ok(())
}

/// Kills the process group of a child. Returns `false` if the group is empty.
fn signal_group(child: &Child) -> Result<bool> {
    let group = format!("-{}", child.id());
    let mut command = Command::new("kill");
    command.args(["-KILL", "--", &group]).stderr(Stdio::null());
    Ok(command.status().context("starting kill")?.success())
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "exit code 0, but no PASS line".to_string(),
        (Some(66), _) => "exit code 66: the sanitizer reported an error".to_string(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown exit status".to_string(),
    }
}

fn repeat_line(variables: &[(String, OsString)], command: &Command) -> String {
    let mut words: Vec<String> =
        variables.iter().map(|(name, value)| format!("{name}={}", quoted(&value.to_string_lossy()))).collect();
    words.push(command_line(command));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_finding_are_added() {
        let list = serde_json::json!([
            { "findings": ["H1", "H3"], "what": "copy", "count": 3, "reason": "one" },
            { "findings": ["H3"], "what": "page", "count": 4, "reason": "another" },
        ]);
        let list = list.as_array().unwrap();
        assert_eq!(["H1", "H3", "S1"].map(|id| count_unjudged(list, id)), [3, 7, 0]);
    }
}
