//! What the checker could not judge, counted. Silence in a report means "clean" only because of this list.
//!
//! A check that gives up on an operation (too many pages, memory that it cannot watch, an order that it cannot see)
//! calls `State::not_judged`. The report says so, once per reason. This is not for limits that hold in every run; those
//! are in `docs/check.md`.

use crate::finding_id::FindingId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Copy,
    Task,
    Call,
    /// A load or store of the program.
    HostAccess,
    Page,
}

impl Subject {
    fn counted(self, count: u64) -> String {
        let (one, many) = match self {
            Subject::Copy => ("copy", "copies"),
            Subject::Task => ("task", "tasks"),
            Subject::Call => ("call", "calls"),
            Subject::HostAccess => ("host access", "host accesses"),
            Subject::Page => ("page", "pages"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Some operations that were not judged, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unjudged {
    /// Ids of the findings that could not be ruled out.
    pub findings: Vec<String>,
    pub what: Subject,
    pub count: u64,
    /// Completes the sentence "... not judged for 3 copies: ...".
    pub reason: String,
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unjudged { findings, what, count, reason } = self;
        write!(f, "{} not judged for {}: {reason}", findings.join(", "), what.counted(*count))
    }
}

/// Adds entries to a list. Entries for the same reason are counted together.
pub(crate) fn merge(list: &mut Vec<Unjudged>, more: impl IntoIterator<Item = Unjudged>) {
    for entry in more {
        let same = |known: &&mut Unjudged| {
            known.what == entry.what && known.findings == entry.findings && known.reason == entry.reason
        };
        match list.iter_mut().find(same) {
            Some(known) => known.count += entry.count,
            None => list.push(entry),
        }
    }
}

/// The counts of one process.
#[derive(Debug, Default)]
pub(crate) struct UnjudgedCounts(BTreeMap<(Subject, &'static str), (&'static [FindingId], u64)>);

impl UnjudgedCounts {
    pub(crate) fn add(&mut self, findings: &'static [FindingId], what: Subject, count: u64, reason: &'static str) {
        if count > 0 {
            self.0.entry((what, reason)).or_insert((findings, 0)).1 += count;
        }
    }

    pub(crate) fn list(&self) -> Vec<Unjudged> {
        let entry = |((what, reason), (findings, count)): (&(Subject, &'static str), &(&'static [FindingId], u64))| {
            let findings = findings.iter().map(ToString::to_string).collect();
            Unjudged { findings, what: *what, count: *count, reason: (*reason).to_owned() }
        };
        self.0.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reasons_are_counted_together() {
        let mut counts = UnjudgedCounts::default();
        counts.add(&[FindingId::H1, FindingId::H3], Subject::Copy, 1, "the memory is not watched");
        counts.add(&[FindingId::H1, FindingId::H3], Subject::Copy, 2, "the memory is not watched");
        counts.add(&[FindingId::S1], Subject::Task, 1, "the order is unknown");
        counts.add(&[FindingId::S1], Subject::Page, 0, "never counted");
        let mut list = counts.list();
        let text: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "H1, H3 not judged for 3 copies: the memory is not watched",
                "S1 not judged for 1 task: the order is unknown"
            ]
        );
        merge(&mut list, counts.list());
        assert_eq!(list.iter().map(|entry| entry.count).collect::<Vec<_>>(), [6, 2]);
    }
}
