//! W2: which of several processes stopped making progress first. Decided from the pictures of all processes, when the
//! program was stopped; a single process cannot know it.

use crate::finding::{Finding, FindingId, Severity};
use crate::picture::Picture;

/// Returns the process for which the others wait, if processes of a program that was stopped waited for each other.
pub fn slow_rank(pictures: &[&Picture]) -> Option<Finding> {
    let mut known: Vec<&Picture> = pictures.iter().copied().filter(|picture| picture.last_progress.is_some()).collect();
    known.sort_by(|a, b| a.last_progress.partial_cmp(&b.last_progress).unwrap_or(std::cmp::Ordering::Equal));
    let waits_outside = |picture: &&&Picture| picture.waits_outside;
    let waiting = known.iter().filter(waits_outside).count();
    if known.len() < 2 || waiting == 0 {
        return None;
    }
    // A process that waits for another one is slow because of it.
    let first = known.iter().find(|picture| !picture.waits_outside).or(known.first())?;
    let last = known.last()?;
    let ahead = last.last_progress? - first.last_progress?;
    let mut message = format!(
        "process {} is the one that the others wait for: it made its last progress {:.1} s before the program was \
         stopped",
        first.pid,
        first.idle()?
    );
    if first.pid != last.pid && ahead >= 0.0 {
        message += &format!(", {ahead:.1} s before process {}, the last one", last.pid);
    }
    for line in first.lines() {
        message += &format!("; in process {}, {line}", first.pid);
    }
    for other in known.iter().filter(waits_outside).filter(|other| other.pid != first.pid) {
        let line = other.streams.first().or(other.threads.first()).map_or("", |waiter| waiter.what.as_str());
        message += &format!("; process {} waits: {line}", other.pid);
    }
    Some(Finding {
        id: FindingId::W2.to_string(),
        severity: Severity::Advice,
        message,
        fix: format!("find out why process {} did not continue; the other processes are not the cause", first.pid),
        count: 1,
        operations: Vec::new(),
        fingerprint: FindingId::W2.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Waiter;

    fn picture(pid: u32, last_progress: f64, waits_outside: bool) -> Picture {
        let what = format!("what {pid} does");
        let streams = vec![Waiter { id: 1, what, ..Waiter::default() }];
        let last_progress = Some(last_progress);
        Picture { pid, last_progress, taken: 10.0, streams, waits_outside, ..Picture::default() }
    }

    #[test]
    fn process_that_does_not_wait_is_the_slow_one() {
        let (a, b, c) = (picture(1, 3.0, true), picture(2, 5.0, false), picture(3, 4.0, true));
        let found = slow_rank(&[&a, &b, &c]).expect("a finding");
        assert_eq!((found.id.as_str(), found.severity), ("W2", Severity::Advice));
        assert!(found.message.starts_with("process 2 is the one that the others wait for"), "{}", found.message);
        assert!(found.message.contains("process 1 waits: what 1 does"), "{}", found.message);
    }

    #[test]
    fn if_all_wait_the_first_that_stopped_is_named() {
        let (a, b) = (picture(1, 4.0, true), picture(2, 3.5, true));
        let found = slow_rank(&[&a, &b]).expect("a finding");
        assert!(found.message.starts_with("process 2 is"), "{}", found.message);
        assert!(
            found.message.contains("6.5 s before the program was stopped, 0.5 s before process 1"),
            "{}",
            found.message
        );
    }

    #[test]
    fn processes_that_do_not_wait_for_each_other_are_not_compared() {
        assert_eq!(slow_rank(&[&picture(1, 1.0, false), &picture(2, 2.0, false)]), None);
        assert_eq!(slow_rank(&[&picture(1, 1.0, true)]), None);
        assert_eq!(slow_rank(&[]), None);
    }
}
