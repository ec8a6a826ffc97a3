//! What a command found: the reports of its processes and runs, folded into one.

use super::format::quote;
use super::suppression::Suppressions;
use crate::finding::{Finding, Report, ReportedOperation, Severity};
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
    /// How the program ended; unknown in the program itself.
    pub exit_code: Option<i32>,
    /// Proven ones first, each mistake once.
    pub cases: Vec<MergedFinding>,
    pub suppressed: u64,
    /// Fingerprints of what a suppression hid.
    pub hidden: BTreeSet<String>,
    /// The processes that cases name.
    pub processes: Vec<Process>,
    /// What else the reader must know, such as a process that left no report.
    pub notes: Vec<String>,
    /// What became of fault rules, a line for each rule and process.
    pub faults: Vec<String>,
    /// The command that repeats it; empty for the obvious one.
    pub repeat: String,
}

/// A finding, and the process whose operations it shows.
#[derive(Debug, Clone)]
pub struct MergedFinding {
    pub finding: Finding,
    /// Index into [`Outcome::processes`].
    pub process: usize,
}

#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    pub program: Vec<String>,
    pub timeline: Vec<ReportedOperation>,
}

impl Outcome {
    /// The outcome of one process.
    pub fn of(report: Report) -> Self {
        let mut outcome = Self::default();
        outcome.add(report, &Suppressions::default());
        outcome
    }

    /// Adds what another process or run found: the same mistake is counted, not repeated. What the suppressions name
    /// is hidden before that, so that it takes nothing else with it.
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
        self.faults.extend(report.faults);
        let mut fresh = false;
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
                // Another run may prove what this one only suspected.
                case.finding.severity = case.finding.severity.min(finding.severity);
            } else {
                self.cases.push(MergedFinding { finding, process });
                fresh = true;
            }
        }
        if fresh {
            self.processes.push(Process { pid: report.pid, program: report.program, timeline: report.timeline });
        }
        self.cases.sort_by_key(|case| case.finding.severity);
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.cases.iter().filter(|case| case.finding.severity == severity).count()
    }

    /// The command that repeats it.
    pub fn repeat(&self) -> String {
        if !self.repeat.is_empty() {
            return self.repeat.clone();
        }
        let words: Vec<String> = self.program.iter().map(quote).collect();
        format!("softacl check --schedule {} -- {}", self.schedule, words.join(" "))
    }

    /// `2 proven, 1 advice, 3 suppressed; schedule late`.
    pub fn summary(&self) -> String {
        let mut text = format!("{} proven, {} advice", self.count(Severity::Proven), self.count(Severity::Advice));
        if self.suppressed > 0 {
            text += &format!(", {} suppressed", self.suppressed);
        }
        if !self.schedule.is_empty() {
            text += &format!("; schedule {}", self.schedule);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn the_same_mistake_in_two_processes_is_one_case() {
        let first = example::report();
        let mut second = example::report();
        second.pid = 4321;
        second.findings[1].fingerprint = "P1 elsewhere".into();
        second.findings[0].count = 5;
        second.suppressed = 2;
        let mut outcome = Outcome::of(first);
        outcome.add(second, &Suppressions::default());
        let told: Vec<(&str, u64, usize)> =
            outcome.cases.iter().map(|case| (case.finding.id.as_str(), case.finding.count, case.process)).collect();
        assert_eq!(told, [("H1", 8, 0), ("P1", 12, 0), ("P1", 12, 1)]);
        assert_eq!(outcome.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [1234, 4321]);
        assert_eq!(outcome.summary(), "1 proven, 2 advice, 2 suppressed; schedule late");
    }

    #[test]
    fn a_process_that_adds_nothing_new_leaves_no_timeline() {
        let mut outcome = Outcome::of(example::report());
        outcome.add(example::report(), &Suppressions::default());
        outcome.add(Report::default(), &Suppressions::default());
        assert_eq!(outcome.processes.len(), 1);
        assert_eq!(outcome.cases[0].finding.count, 6);
    }

    #[test]
    fn severity_is_upgraded_to_proven_when_merged() {
        let mut suspected = example::report();
        suspected.findings[0].severity = Severity::Advice;
        let mut outcome = Outcome::of(suspected);
        assert_eq!(outcome.count(Severity::Proven), 0);
        outcome.add(example::report(), &Suppressions::default());
        assert_eq!(outcome.count(Severity::Proven), 1);
        assert_eq!(outcome.cases[0].finding.id, "H1");
    }

    #[test]
    fn proven_comes_first_and_the_command_can_be_pasted() {
        let mut report = example::report();
        report.findings.reverse();
        report.schedule = "random:17".into();
        report.seed = Some(17);
        let outcome = Outcome::of(report);
        assert_eq!(outcome.cases[0].finding.severity, Severity::Proven);
        assert_eq!(outcome.repeat(), "softacl check --schedule random:17 -- ./app '--name=two words'");
    }
}
