//! Processes that end while the others still wait for the group to become complete.

use softacl_carrier::meeting::{Meeting, MeetingError, SegmentKey};
use std::env;
use std::mem::zeroed;
use std::process::Command;
use std::time::Duration;

const KEY: &str = "CARRIER_TEST_KEY";

/// Entry of the process that attends and ends.
#[test]
fn worker() {
    let Ok(text) = env::var(KEY) else { return };
    let words: Vec<u64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
    let key = SegmentKey { process: words[0] as u32, descriptor: words[1] as u32, nonce: words[2] };
    let attendance = Meeting::by_key(key).unwrap().attend(1, 3, 0).unwrap();
    // It does not leave: it ends.
    std::mem::forget(attendance);
}

#[test]
fn rank_that_ended_while_joining_is_lost_before_its_parent_waits_for_it() {
    let meeting = Meeting::convene("ends").unwrap();
    let SegmentKey { process, descriptor, nonce } = meeting.key();
    let first = meeting.attend(0, 3, 0).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["worker", "--exact", "--test-threads=1"])
        .env(KEY, format!("{process} {descriptor} {nonce}"))
        .spawn()
        .unwrap();
    // SAFETY: the structure is written by the call. The child stays a zombie.
    let waited = unsafe { libc::waitid(libc::P_PID, child.id(), &mut zeroed(), libc::WEXITED | libc::WNOWAIT) };
    assert_eq!(waited, 0);
    let error = first.complete(Duration::from_secs(60)).unwrap_err();
    assert!(matches!(error, MeetingError::Lost { rank: 1, process } if process == child.id()), "{error}");
    assert!(child.wait().unwrap().success());
}
