//! S1 and S2 between processes: accesses to memory that several processes share, from the logs of all of them.
//!
//! Hosts exchange messages that no process reports (pipes, sockets, shared memory), so an order between two processes
//! cannot be ruled out from what they called. It is ruled out by time. If B was queued, and everything that it waited for
//! had happened, before A moved its first byte, then nothing can have made B wait for A. If the same holds the other way
//! round, the two are unordered, and another legal order runs them at the same time.
//!
//! That needs no clocks of other processes: a wait for a shared event, notify or value ends after what it waits for, so
//! the tasks behind it become ready too late for a race.

use crate::finding::{
    Actor, Bytes, Finding, FindingId, Mode, Participant, ProcessAccesses, Report, ReportedOperation, Severity,
    SharedAccess, SharedRange,
};
use crate::process_access::unjudged_races;
use crate::unjudged::{self, Subject};
use std::collections::{BTreeMap, HashSet};

/// Processes signal each other with small values in shared memory. Overlaps up to this size are no race.
const MAX_SIGNAL: u64 = 64;
/// Maximum number of different races that are reported.
const MAX_RACES: usize = 100;
/// Maximum number of pairs of ranges that are compared: some seconds.
const MAX_PAIRS: usize = 1 << 30;

const SIGNALS: &str = "they may be signals: at most 64 bytes of memory of several processes, which they access without an \
                       order";
const TOO_MANY: &str = "there are too many accesses to memory of several processes to compare all of them";
const INVISIBLE: &str = "another process had accessed the bytes, without a wait of its host since then, and what ordered \
                         the two is not visible";

/// An access and its process, as an index into the reports.
#[derive(Clone, Copy)]
struct Party<'a> {
    process: usize,
    number: usize,
    ready: u64,
    access: &'a SharedAccess,
}

/// Compares the accesses of all processes to the memory that they share, and adds what it finds to the reports.
/// `is_complete` is false if a process left no report.
pub fn compare_processes(reports: &mut [&mut Report], is_complete: bool) {
    let mut users: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for file in reports.iter().flat_map(|report| &report.shared.files) {
        *users.entry(*file).or_default() += 1;
    }
    let is_compared = |file| is_complete && users.get(&file).is_some_and(|count| *count > 1);
    let (found, unjudged) = races(reports);
    for report in reports.iter_mut() {
        ProcessAccesses::forget_unjudged(&mut report.unjudged);
        let left = report.shared.unjudged(is_compared);
        unjudged::merge(&mut report.unjudged, left);
    }
    for (process, finding) in found {
        reports[process].findings.push(finding);
    }
    for (process, entry) in unjudged {
        unjudged::merge(&mut reports[process].unjudged, [entry]);
    }
}

/// Process, index of the place, and whether it is a blocking call.
type Site = (usize, usize, bool);

type Found = (Vec<(usize, Finding)>, Vec<(usize, unjudged::Unjudged)>);

fn races(reports: &[&mut Report]) -> Found {
    let mut parties: Vec<Party<'_>> = Vec::new();
    for (process, report) in reports.iter().enumerate() {
        parties.extend(report.shared.accesses.iter().enumerate().filter_map(|(number, access)| {
            let ready = access.ready?;
            Some(Party { process, number, ready, access })
        }));
    }
    parties.sort_by_key(|party| (party.ready, party.process, party.number));
    let mut active: Vec<Party<'_>> = Vec::new();
    let mut found: BTreeMap<[Site; 2], (usize, Finding)> = BTreeMap::new();
    let (mut signals, mut invisible, mut skipped) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut pairs = 0;
    for later in parties {
        // A host wait has covered the others.
        active.retain(|earlier| earlier.access.known > later.ready || earlier.access.started > later.ready);
        for earlier in active.iter().filter(|earlier| earlier.process != later.process) {
            let is_race = later.ready < earlier.access.started && earlier.ready < later.access.started;
            if !is_race && later.access.gated >= earlier.access.started {
                continue;
            }
            pairs += earlier.access.ranges.len() * later.access.ranges.len();
            if pairs > MAX_PAIRS {
                skipped.insert((later.process, later.number));
                continue;
            }
            let Some((one, other)) = overlap(earlier.access, later.access) else { continue };
            let len = one.end.min(other.end) - one.start.max(other.start);
            if len <= MAX_SIGNAL {
                signals.insert((later.process, later.number));
            } else if !is_race {
                invisible.insert((later.process, later.number));
            } else {
                // One finding for all races of two places, whichever of them comes first.
                let site = |party: &Party<'_>| (party.process, party.access.place, party.access.is_call);
                let mut sites = [site(earlier), site(&later)];
                sites.sort_unstable();
                if let Some((_, known)) = found.get_mut(&sites) {
                    known.count += 1;
                } else if found.len() < MAX_RACES {
                    found.insert(sites, (later.process, race(reports, earlier, (&later, one, other))));
                }
            }
        }
        active.push(later);
    }
    let mut unjudged = Vec::new();
    for (list, reason) in [(signals, SIGNALS), (invisible, INVISIBLE), (skipped, TOO_MANY)] {
        for (process, number) in list {
            let is_call = reports[process].shared.accesses[number].is_call;
            let what = if is_call { Subject::Call } else { Subject::Task };
            unjudged.push((process, unjudged_races(what, 1, reason)));
        }
    }
    (found.into_values().collect(), unjudged)
}

/// The first ranges of two accesses that conflict.
fn overlap<'a>(one: &'a SharedAccess, other: &'a SharedAccess) -> Option<(&'a SharedRange, &'a SharedRange)> {
    let pairs = one.ranges.iter().flat_map(|a| other.ranges.iter().map(move |b| (a, b)));
    let conflicts = |(a, b): &(&SharedRange, &SharedRange)| {
        a.file == b.file && a.inode_is_known() && a.start < b.end && b.start < a.end && (a.is_write || b.is_write)
    };
    // The largest overlap, because a small one may be a signal.
    pairs.into_iter().filter(conflicts).max_by_key(|(a, b)| a.end.min(b.end) - a.start.max(b.start))
}

fn race(
    reports: &[&mut Report],
    earlier: &Party<'_>,
    (later, one, other): (&Party<'_>, &SharedRange, &SharedRange),
) -> Finding {
    let pid = |party: &Party<'_>| reports[party.process].pid;
    let verb = |range: &SharedRange| if range.is_write { "writes" } else { "reads" };
    let (start, end) = (one.start.max(other.start), one.end.min(other.end));
    let is_call = earlier.access.is_call || later.access.is_call;
    let message = format!(
        "{} of process {} ({}) {} bytes {start} to {} of memory that the processes share, which {} of process {} ({}) \
         {}; each of the two was ready to run before the other one ran, so neither waits for the other",
        actor(&later.access.operation),
        pid(later),
        later.access.operation.what,
        verb(other),
        end - 1,
        actor(&earlier.access.operation),
        pid(earlier),
        earlier.access.operation.what,
        verb(one),
    );
    let fix = if is_call {
        format!(
            "wait for the stream in the process of the task before its host lets the other process continue \
             (process {} and process {})",
            pid(earlier),
            pid(later)
        )
    } else {
        format!(
            "record a shared event after the task of process {} (aclrtIpcGetEventHandle) and let the stream of process \
             {} wait for it (aclrtStreamWaitEvent), or wait for the stream before the host lets the other process \
             continue",
            pid(earlier),
            pid(later)
        )
    };
    let participant = |party: &Party<'_>, range: &SharedRange, role: &str| {
        let address = range.address + (start - range.start);
        let mode = if range.is_write { Mode::Write } else { Mode::Read };
        let what =
            format!("bytes {start} to {} of the shared memory, at {address:#x} in process {}", end - 1, pid(party));
        let place = reports[party.process].shared.places.get(party.access.place).cloned().unwrap_or_default();
        Participant {
            role: format!("{role}, in process {}", pid(party)),
            operation: ReportedOperation {
                ranges: vec![Bytes { address, len: end - start, mode, what }],
                place,
                ..party.access.operation.clone()
            },
        }
    };
    let operations =
        vec![participant(earlier, one, "the first operation"), participant(later, other, "the second operation")];
    let id = if is_call { FindingId::S2 } else { FindingId::S1 };
    // Equal for both orders of the two.
    let mut sites: Vec<String> = operations.iter().map(Participant::site).collect();
    sites.sort();
    let fingerprint = format!("{id} {} (two processes)", sites.join(" "));
    Finding { id: id.to_string(), severity: Severity::Proven, message, fix, count: 1, operations, fingerprint }
}

fn actor(operation: &ReportedOperation) -> String {
    match operation.actor {
        Actor::Thread { thread } => format!("host thread {thread}"),
        Actor::Stream { stream, sequence } => format!("task {sequence} of stream {stream}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    /// An access of 4096 bytes that could run from `ready` on, started and was covered by a wait.
    fn access(ready: u64, started: u64, known: u64, is_write: bool) -> SharedAccess {
        let operation = example::report().findings[0].operations[0].operation.clone();
        SharedAccess {
            ranges: vec![SharedRange { file: (1, 2), start: 0, end: 4096, address: 1 << 40, is_write }],
            ready: Some(ready),
            gated: 0,
            started,
            known,
            is_call: false,
            operation,
            place: 0,
        }
    }

    /// Findings and unjudged accesses of two processes with one access each.
    fn judge(one: SharedAccess, other: SharedAccess) -> (usize, u64) {
        let report = |pid, access| {
            let shared = ProcessAccesses { files: vec![(1, 2)], accesses: vec![access], ..ProcessAccesses::default() };
            Report { pid, shared, ..Report::default() }
        };
        let (mut one, mut other) = (report(1, one), report(2, other));
        compare_processes(&mut [&mut one, &mut other], true);
        let all = [one, other];
        let unjudged = all.iter().flat_map(|report| &report.unjudged).map(|entry| entry.count).sum();
        (all.iter().map(|report| report.findings.len()).sum(), unjudged)
    }

    #[test]
    fn two_accesses_that_were_both_ready_before_either_ran_race() {
        assert_eq!(judge(access(1, 10, 11, true), access(2, 9, 12, false)), (1, 0));
        assert_eq!(judge(access(1, 10, 11, false), access(2, 9, 12, false)), (0, 0), "two reads");
    }

    #[test]
    fn access_that_was_queued_after_a_host_wait_is_ordered() {
        assert_eq!(judge(access(1, 10, 11, true), access(12, 13, 14, false)), (0, 0));
    }

    #[test]
    fn access_behind_a_wait_that_ended_later_is_ordered() {
        let behind = SharedAccess { gated: 12, ..access(12, 13, 14, false) };
        assert_eq!(judge(access(1, 10, 20, true), behind), (0, 0));
        let never = SharedAccess { ready: None, ..access(2, 13, 14, false) };
        assert_eq!(judge(access(1, 10, 20, true), never), (0, 0));
    }

    #[test]
    fn access_that_nothing_visible_orders_is_not_judged() {
        assert_eq!(judge(access(1, 10, 20, true), access(12, 13, 14, false)), (0, 1));
    }

    #[test]
    fn small_values_are_signals() {
        let mut small = access(2, 9, 12, false);
        small.ranges[0].end = 8;
        assert_eq!(judge(access(1, 10, 11, true), small), (0, 1));
    }

    #[test]
    fn small_value_behind_a_wait_is_ordered() {
        let mut small = SharedAccess { gated: 12, ..access(12, 13, 14, false) };
        small.ranges[0].end = 8;
        assert_eq!(judge(access(1, 10, 20, true), small), (0, 0));
    }

    #[test]
    fn races_of_the_same_places_are_one_finding() {
        let shared = |accesses| ProcessAccesses { files: vec![(1, 2)], accesses, ..ProcessAccesses::default() };
        let report = |pid, accesses| Report { pid, shared: shared(accesses), ..Report::default() };
        let mut one = report(1, vec![access(1, 10, 11, true), access(1, 10, 11, true)]);
        let mut other = report(2, vec![access(2, 9, 12, false)]);
        compare_processes(&mut [&mut one, &mut other], true);
        let findings = [one.findings, other.findings].concat();
        assert_eq!(findings.iter().map(|finding| finding.count).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn blocking_call_that_meets_a_queued_task_is_s2() {
        let call = SharedAccess { is_call: true, ..access(5, 5, 5, true) };
        let shared =
            |access| ProcessAccesses { files: vec![(1, 2)], accesses: vec![access], ..ProcessAccesses::default() };
        let mut one = Report { pid: 1, shared: shared(access(1, 10, 11, false)), ..Report::default() };
        let mut other = Report { pid: 2, shared: shared(call), ..Report::default() };
        compare_processes(&mut [&mut one, &mut other], true);
        assert_eq!(other.findings[0].id, "S2");
    }

    #[test]
    fn process_without_a_report_leaves_accesses_unjudged() {
        let shared = ProcessAccesses {
            files: vec![(1, 2)],
            accesses: vec![access(1, 2, 3, true)],
            ..ProcessAccesses::default()
        };
        let mut report = Report { pid: 1, shared, ..Report::default() };
        compare_processes(&mut [&mut report], true);
        assert_eq!(report.unjudged.iter().map(|entry| entry.count).sum::<u64>(), 1);
    }
}
