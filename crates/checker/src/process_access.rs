//! Accesses of one process to memory that several processes share: what of them was not compared.

use crate::finding::{ProcessAccesses, SharedAccess, SharedRange};
use crate::unjudged::{Subject, Unjudged};

/// Why accesses to shared memory were not judged.
const ALONE: &str = "they access memory that other processes can access, too, and there is no report of those processes \
                     to compare them with";
const FORGOTTEN: &str = "only the newest accesses to memory of several processes are kept and compared";
const OMITTED: &str = "only the first 1,024 ranges of an access to memory of several processes are compared";

impl SharedRange {
    /// False if the system did not name the file.
    pub(crate) fn inode_is_known(&self) -> bool {
        self.file.1 != 0
    }
}

impl ProcessAccesses {
    /// What was not compared with other processes, if those files were that satisfy `is_compared`.
    pub fn unjudged(&self, is_compared: impl Fn((u64, u64)) -> bool) -> Vec<Unjudged> {
        let is_alone = |access: &&SharedAccess| !access.ranges.iter().all(|range| is_compared(range.file));
        let count = |is_call: bool| {
            let alone = self.accesses.iter().filter(is_alone).filter(|access| access.is_call == is_call);
            alone.count() as u64
        };
        [
            unjudged_races(Subject::Task, count(false), ALONE),
            unjudged_races(Subject::Call, count(true), ALONE),
            unjudged_races(Subject::Task, self.forgotten, FORGOTTEN),
            unjudged_races(Subject::Copy, self.omitted, OMITTED),
        ]
        .into_iter()
        .filter(|entry| entry.count > 0)
        .collect()
    }

    /// Removes what `unjudged` returned when nothing was compared.
    pub(crate) fn forget_unjudged(list: &mut Vec<Unjudged>) {
        list.retain(|entry| ![ALONE, FORGOTTEN, OMITTED].contains(&entry.reason.as_str()));
    }
}

/// An entry about races between processes.
pub(crate) fn unjudged_races(what: Subject, count: u64, reason: &str) -> Unjudged {
    let findings = vec!["S1".to_owned(), "S2".to_owned()];
    Unjudged { findings, what, count, reason: reason.to_owned() }
}
