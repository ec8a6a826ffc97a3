//! Builds the programs of the zoo, runs one of them once, and compares its output and the checker's report with the
//! case.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::case::{Case, Expected, Language, Severity, Twin, Verdict};
use crate::conformance::{End, Sanitizer, clean_environment, command_line, quoted, run_into, sanitizer_variables};
use crate::workspace::PROGRESS_TIMEOUT_VARIABLE;

/// Exit code of `softacl check` if a finding is proven.
const PROVEN_EXIT_CODE: i32 = 2;

/// In place of a schedule: every order.
pub const EXPLORE: &str = "explore";
/// Most zoo programs have few orders. The bound keeps the others short.
const MAX_ORDERS: &str = "50";
/// The bound of programs with collectives. An order in which a rank waits for another one takes half a second.
const MAX_COLLECTIVE_ORDERS: &str = "5";

/// Library, headers, interpreter and output directory.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Directory of `libascendcl.so` and `softacl`.
    pub library: PathBuf,
    pub include: PathBuf,
    /// Directory of the Python module `acl`.
    pub site: PathBuf,
    /// The interpreter itself, not a wrapper script, because it starts thousands of times.
    pub python: PathBuf,
    /// Directory of the built programs.
    pub binaries: PathBuf,
    /// Directory of outputs and reports.
    pub directory: PathBuf,
    /// Sanitizer that the programs are built with.
    pub sanitizer: Option<Sanitizer>,
    /// Another variable of the programs.
    pub variable: Option<(String, OsString)>,
}

/// A program of a case, with the schedule to run it on.
#[derive(Debug)]
pub struct CaseRun<'c> {
    pub case: &'c Case,
    pub twin: Twin,
    pub schedule: String,
    pub checked: bool,
}

/// Report of a failed run.
#[derive(Debug)]
pub struct Failure {
    pub reason: String,
    pub output: String,
    pub repeat: String,
}

/// Part of the checker's report that the zoo reads.
#[derive(Debug, Deserialize)]
struct CheckReport {
    findings: Vec<ReportedFinding>,
}

#[derive(Debug, Deserialize)]
struct ReportedFinding {
    id: String,
    severity: String,
    message: String,
    count: u64,
}

impl Paths {
    fn binary(&self, case: &Case, twin: Twin) -> PathBuf {
        self.binaries.join(format!("{}-{}", case.id, twin.name()))
    }

    /// Builds one program. Returns the compiler's output if it fails.
    pub fn build(&self, case: &Case, twin: Twin) -> Result<Option<String>> {
        if case.language == Language::Python {
            return Ok(None);
        }
        let mut gcc = Command::new("gcc");
        gcc.args([
            "-std=gnu11",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-deprecated-declarations",
            "-pthread",
        ])
        .args(self.sanitizer.map_or(&[][..], Sanitizer::flags))
        .arg("-I")
        .arg(&self.include)
        .arg(case.source(twin))
        .arg("-o")
        .arg(self.binary(case, twin))
        .arg("-L")
        .arg(&self.library)
        .args(case.links.iter().map(|library| format!("-l{library}")))
        .arg("-lascendcl");
        let output = gcc.output().context("starting gcc")?;
        let text = || format!("{}\n{}", command_line(&gcc), String::from_utf8_lossy(&output.stderr));
        Ok((!output.status.success()).then(text))
    }

    fn variables(&self, run: &CaseRun) -> Vec<(String, OsString)> {
        // On a busy host, a slow program must not look like one that makes no calls. In an exploration that only makes
        // the statement weaker, and every order in which the program waits without a call takes that long.
        let progress_timeout = if run.schedule == EXPLORE { "500" } else { "5000" };
        let mut variables = vec![
            ("LD_LIBRARY_PATH".to_owned(), self.library.clone().into_os_string()),
            (PROGRESS_TIMEOUT_VARIABLE.to_owned(), progress_timeout.into()),
        ];
        if run.case.language == Language::Python {
            variables.push(("PYTHONPATH".to_owned(), self.site.clone().into_os_string()));
            variables.push(("PYTHONDONTWRITEBYTECODE".to_owned(), "1".into()));
        }
        if !run.checked {
            variables.push(("SOFTACL_SCHEDULE".to_owned(), run.schedule.clone().into()));
        }
        variables.extend(sanitizer_variables(self.sanitizer));
        variables.extend(self.variable.clone());
        variables.extend(run.case.env.iter().map(|(name, value)| (name.clone(), value.into())));
        variables
    }
}

impl CaseRun<'_> {
    pub fn title(&self) -> String {
        let checked = if self.checked { ", checked" } else { "" };
        format!("{} {} under {}{checked}", self.case.id, self.twin.name(), self.schedule)
    }

    /// Runs the program and compares the result with the case. Returns `None` if it matches.
    pub fn execute(&self, paths: &Paths) -> Result<Option<Failure>> {
        let name = self.title().replace([' ', ':', ','], "-");
        let output = paths.directory.join(format!("{name}.txt"));
        let report = paths.directory.join(format!("{name}.json"));
        let variables = paths.variables(self);
        let mut command = self.command(paths, &report);
        let words = variables.iter().map(|(name, value)| format!("{name}={}", quoted(&value.to_string_lossy())));
        let repeat = format!("{} {}", words.collect::<Vec<_>>().join(" "), command_line(&command));
        clean_environment(&mut command, false);
        command.envs(variables);
        if report.exists() {
            fs::remove_file(&report)?; // left by an earlier run
        }

        let end = run_into(&mut command, &output)?;
        let text = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
        let result = match end {
            End::TimedOut => Err("timed out".to_owned()),
            End::Exited(status) => self.evaluate(status.code(), &text, &report),
        };
        if result.is_ok() {
            fs::remove_file(&output)?;
        }
        Ok(result.err().map(|reason| Failure { reason, output: text, repeat }))
    }

    fn command(&self, paths: &Paths, report: &Path) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        if self.checked {
            words.push(paths.library.join("softacl").into());
            words.push("check".into());
            match self.schedule.as_str() {
                EXPLORE => {
                    let has_collectives = self.case.links.iter().any(|library| library == "hccl");
                    let orders = if has_collectives { MAX_COLLECTIVE_ORDERS } else { MAX_ORDERS };
                    words.extend(["--explore", "--orders", orders].map(OsString::from));
                }
                schedule => words.extend(["--schedule", schedule].map(OsString::from)),
            }
            words.push("--json".into());
            words.push(report.into());
            if let (Twin::Buggy, Some(timeout)) = (self.twin, self.case.timeout) {
                words.extend(["--timeout".into(), timeout.to_string().into()]);
            }
            words.push("--".into());
        }
        words.extend(paths.sanitizer.map_or(&[][..], Sanitizer::launcher).iter().map(OsString::from));
        match self.case.language {
            Language::C => words.push(paths.binary(self.case, self.twin).into()),
            Language::Python => words.extend([paths.python.clone().into(), self.case.source(self.twin).into()]),
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    /// Evaluates report, exit code and verdict. The verdict of a buggy program under the checker is ignored, because
    /// the checker may have accessed its data.
    fn evaluate(&self, code: Option<i32>, output: &str, report: &Path) -> Result<(), String> {
        let is_proven = self.checked
            && self.evaluate_report(&fs::read_to_string(report).map_err(|error| format!("no report: {error}"))?)?;
        let expected = if is_proven { PROVEN_EXIT_CODE } else { 0 };
        let is_stopped = self.twin == Twin::Buggy && self.case.timeout.is_some();
        if code != Some(expected) && !is_stopped {
            let found = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            return Err(format!("{found}, expected exit code {expected}"));
        }
        if self.twin == Twin::Buggy && self.case.hangs {
            return Ok(());
        }
        let found = Verdict::of(output).ok_or("no line starts with \"right:\" or \"wrong:\"")?;
        let expected = match (self.twin, self.schedule.as_str()) {
            (Twin::Fixed, _) => Verdict::Right,
            (Twin::Buggy, "early") => self.case.early,
            (Twin::Buggy, "late") if !self.checked => self.case.late,
            (Twin::Buggy, _) => Verdict::Any,
        };
        if !expected.admits(found) {
            return Err(format!("its data is {found:?}, expected {expected:?}"));
        }
        Ok(())
    }

    /// Fails unless the report contains exactly the expected findings, with the expected severity. Returns whether a
    /// finding is proven.
    fn evaluate_report(&self, text: &str) -> Result<bool, String> {
        let report: CheckReport = serde_json::from_str(text).map_err(|error| format!("invalid report: {error}"))?;
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &report.findings {
            *counts.entry(&finding.id).or_default() += finding.count;
        }
        let empty = Vec::new();
        let expected = if self.twin == Twin::Buggy { &self.case.findings } else { &empty };
        let expected_ids: BTreeSet<&str> = expected.iter().map(Expected::id).collect();
        let tolerated = |id: &str| self.twin == Twin::Buggy && self.case.also.contains(id);
        let found: BTreeSet<&str> =
            counts.keys().copied().filter(|id| expected_ids.contains(id) || !tolerated(id)).collect();
        if found != expected_ids {
            let lines = report.findings.iter().map(|f| format!("\n    {} ({}) {}", f.id, f.severity, f.message));
            return Err(format!("found {found:?}, expected {expected_ids:?}{}", lines.collect::<String>()));
        }
        for finding in &report.findings {
            let severity = finding.severity.to_lowercase();
            let matches = self.case.severity == Severity::Either || severity == self.case.severity.name();
            if expected_ids.contains(finding.id.as_str()) && !matches {
                return Err(format!("{} is {severity}, expected {}", finding.id, self.case.severity.name()));
            }
        }
        // In an exploration, every order that was run counts again.
        let counted = if self.schedule == EXPLORE { &empty } else { expected };
        for finding in counted {
            if let Expected::Counted { id, count } = finding {
                let found = counts.get(id.as_str()).copied().unwrap_or(0);
                if found != *count {
                    return Err(format!("{id} was reported {found} times, expected {count}"));
                }
            }
        }
        Ok(report.findings.iter().any(|finding| finding.severity.to_lowercase() == Severity::Proven.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(twin: Twin, findings: &str) -> Result<bool, String> {
        let text = r#"
            id = "h1-x"
            title = ""
            language = "c"
            severity = "proven"
            findings = [{ id = "H1", count = 3 }]
            also = ["P1"]
            story = ""
            real_life = "pattern"
            late = "wrong"
        "#;
        let case: Case = toml::from_str(text).expect("the case is valid");
        let run = CaseRun { case: &case, twin, schedule: "late".to_owned(), checked: true };
        run.evaluate_report(&format!(r#"{{ "schedule": "late", "findings": [{findings}] }}"#))
    }

    fn finding(id: &str, severity: &str, count: u64) -> String {
        format!(r#"{{ "id": "{id}", "severity": "{severity}", "message": "m", "count": {count}, "place": "x" }}"#)
    }

    #[test]
    fn report_must_match_expected_findings_exactly() {
        let good = finding("H1", "PROVEN", 3);
        assert_eq!(evaluate(Twin::Buggy, &good), Ok(true));
        assert_eq!(evaluate(Twin::Buggy, &format!("{good}, {}", finding("P1", "advice", 1))), Ok(true));
        assert_eq!(evaluate(Twin::Fixed, ""), Ok(false));
        for bad in ["", &finding("H1", "advice", 3), &finding("H1", "proven", 2), &finding("H2", "proven", 3)] {
            assert!(evaluate(Twin::Buggy, bad).is_err(), "{bad}");
        }
        assert!(evaluate(Twin::Buggy, &format!("{good}, {}", finding("S1", "proven", 1))).is_err());
        assert!(evaluate(Twin::Fixed, &finding("P1", "advice", 1)).is_err());
    }

    #[test]
    fn verdict_is_the_last_line_with_one() {
        assert_eq!(Verdict::of("copy: 107000\nwrong: 3 of 4 words\nH1: more\n"), Some(Verdict::Wrong));
        assert_eq!(Verdict::of("right: 4 words"), Some(Verdict::Right));
        assert_eq!(Verdict::of("all is right"), None);
    }
}
