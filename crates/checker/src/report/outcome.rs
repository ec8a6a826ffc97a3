//! The result of a command: the reports of its processes and runs, merged.

use super::exploration::Exploration;
use super::format::quote;
use super::suppression::Suppressions;
use crate::finding::{Finding, Report, ReportedOperation, Severity};
use crate::unjudged::{self, Unjudged};
use std::collections::BTreeSet;

/// The result of one check.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The command that was checked, with its arguments.
    pub program: Vec<String>,
    pub version: String,
    pub soc: String,
    pub schedule: String,
    pub seed: Option<u64>,
    /// Exit code of the program. `None` if the report is rendered inside it.
    pub exit_code: Option<i32>,
    /// Merged findings, proven ones first.
    pub cases: Vec<MergedFinding>,
    pub suppressed: u64,
    /// Fingerprints of the suppressed findings.
    pub hidden: BTreeSet<String>,
    /// The processes whose operations the findings show.
    pub processes: Vec<Process>,
    /// Limits of the report, such as a process without a report.
    pub notes: Vec<String>,
    /// What could not be judged, one entry per reason.
    pub unjudged: Vec<Unjudged>,
    /// Why nothing was checked, if the program never used softacl.
    pub unchecked: Option<String>,
    /// Fault-injection summary, one line per rule and process.
    pub faults: Vec<String>,
    /// The result of exploring orders, if that was requested.
    pub exploration: Option<Exploration>,
    /// The command that repeats the run. If empty, it is derived from the program and the schedule.
    pub repeat: String,
}

/// A finding and the process whose operations it shows.
#[derive(Debug, Clone)]
pub struct MergedFinding {
    pub finding: Finding,
    /// Index into [`Outcome::processes`].
    pub process: usize,
}

/// A process with findings.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    pub program: Vec<String>,
    pub timeline: Vec<ReportedOperation>,
}

impl Outcome {
    /// Outcome of a single process.
    pub fn of(report: Report) -> Self {
        let mut outcome = Self::default();
        outcome.add(report, &Suppressions::default());
        outcome
    }

    /// Merges the report of another process or run. Equal findings are counted, not repeated. Suppressions are
    /// applied first, so that they hide nothing else.
    pub fn add(&mut self, report: Report, suppressions: &Suppressions) {
        if self.version.is_empty() {
            self.version = report.version;
        }
        if self.soc.is_empty() {
            self.soc = report.soc;
        }
        if self.program.is_empty() {
            self.program.clone_from(&report.program);
        }
        if self.schedule.is_empty() {
            self.schedule = report.schedule;
            self.seed = report.seed;
        }
        self.suppressed += report.suppressed;
        self.notes.extend(report.notes);
        unjudged::merge(&mut self.unjudged, report.unjudged);
        self.faults.extend(report.faults);
        let mut is_new = false;
        let process = self.processes.len();
        for finding in report.findings {
            if suppressions.hides(&finding) {
                self.suppressed += u64::from(self.hidden.insert(finding.fingerprint));
                continue;
            }
            let same = |case: &&mut MergedFinding| {
                case.finding.fingerprint == finding.fingerprint && case.finding.id == finding.id
            };
            if let Some(case) = self.cases.iter_mut().find(same) {
                case.finding.count += finding.count;
                // Another run may prove what this one reported as advice.
                case.finding.severity = case.finding.severity.min(finding.severity);
            } else {
                self.cases.push(MergedFinding { finding, process });
                is_new = true;
            }
        }
        if is_new {
            self.processes.push(Process { pid: report.pid, program: report.program, timeline: report.timeline });
        }
        self.cases.sort_by_key(|case| case.finding.severity);
    }

    /// Number of findings of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.cases.iter().filter(|case| case.finding.severity == severity).count()
    }

    /// The command that repeats the run.
    pub fn repeat(&self) -> String {
        if !self.repeat.is_empty() {
            return self.repeat.clone();
        }
        let words: Vec<String> = self.program.iter().map(quote).collect();
        format!("softacl check --schedule {} -- {}", self.schedule, words.join(" "))
    }

    /// Everything that keeps an empty report from meaning "clean": why nothing was checked, what was not judged, then
    /// the notes.
    pub fn limits(&self) -> impl Iterator<Item = String> {
        let unjudged = self.unjudged.iter().map(ToString::to_string);
        self.unchecked.iter().cloned().chain(unjudged).chain(self.notes.iter().cloned())
    }

    /// Removes the timelines, which are the largest part of a report.
    pub fn remove_timelines(&mut self) {
        self.processes.iter_mut().for_each(|process| process.timeline.clear());
    }

    /// Summary such as `2 proven, 1 advice, 1 not judged, 3 suppressed; schedule late; the program exited with 7`.
    pub fn summary(&self) -> String {
        let mut text = match self.unchecked {
            Some(_) => "nothing was checked".to_owned(),
            None => self.counts(),
        };
        if !self.schedule.is_empty() {
            text += &format!("; schedule {}", self.schedule);
        }
        if let Some(code) = self.exit_code.filter(|code| *code != 0) {
            text += &format!("; the program exited with {code}");
        }
        text
    }

    fn counts(&self) -> String {
        let mut text = format!("{} proven, {} advice", self.count(Severity::Proven), self.count(Severity::Advice));
        if !self.unjudged.is_empty() {
            text += &format!(", {} not judged", self.unjudged.len());
        }
        if self.suppressed > 0 {
            text += &format!(", {} suppressed", self.suppressed);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use crate::unjudged::Subject;

    #[test]
    fn equal_findings_of_two_processes_are_merged() {
        let first = example::report();
        let mut second = example::report();
        second.pid = 4321;
        second.findings[1].fingerprint = "P1 elsewhere".into();
        second.findings[0].count = 5;
        second.suppressed = 2;
        let unjudged = Unjudged { findings: vec!["H1".into()], what: Subject::Copy, count: 3, reason: "why".into() };
        second.unjudged = vec![unjudged.clone(), unjudged];
        let mut outcome = Outcome::of(first);
        outcome.add(second, &Suppressions::default());
        let merged: Vec<(&str, u64, usize)> =
            outcome.cases.iter().map(|case| (case.finding.id.as_str(), case.finding.count, case.process)).collect();
        assert_eq!(merged, [("H1", 8, 0), ("P1", 12, 0), ("P1", 12, 1)]);
        assert_eq!(outcome.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [1234, 4321]);
        assert_eq!(outcome.summary(), "1 proven, 2 advice, 1 not judged, 2 suppressed; schedule late");
        assert_eq!(outcome.limits().collect::<Vec<_>>(), ["H1 not judged for 6 copies: why"]);
    }

    #[test]
    fn process_without_new_findings_adds_no_timeline() {
        let mut outcome = Outcome::of(example::report());
        outcome.add(example::report(), &Suppressions::default());
        outcome.add(Report::default(), &Suppressions::default());
        assert_eq!(outcome.processes.len(), 1);
        assert_eq!(outcome.cases[0].finding.count, 6);
    }

    #[test]
    fn severity_is_upgraded_to_proven_when_merged() {
        let mut advice = example::report();
        advice.findings[0].severity = Severity::Advice;
        let mut outcome = Outcome::of(advice);
        assert_eq!(outcome.count(Severity::Proven), 0);
        outcome.add(example::report(), &Suppressions::default());
        assert_eq!(outcome.count(Severity::Proven), 1);
        assert_eq!(outcome.cases[0].finding.id, "H1");
    }

    #[test]
    fn proven_findings_sort_first_and_command_is_quoted() {
        let mut report = example::report();
        report.findings.reverse();
        report.schedule = "random:17".into();
        report.seed = Some(17);
        let outcome = Outcome::of(report);
        assert_eq!(outcome.cases[0].finding.severity, Severity::Proven);
        assert_eq!(outcome.repeat(), "softacl check --schedule random:17 -- ./app '--name=two words'");
    }
}
