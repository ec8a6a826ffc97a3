//! Runs whose other rank is lost.

use super::*;
use crate::config::Config;
use crate::message::Terms;
use crate::plan::{self, Place};
use softacl_carrier::meeting::Meeting;
use std::thread;

/// Two ranks of this process.
fn pair() -> [Arc<Communicator>; 2] {
    let meeting = Meeting::convene("unit-run").unwrap();
    let key = meeting.key();
    let first = meeting.attend(0, 2, 0).unwrap();
    let second = Meeting::by_key(key).unwrap().attend(1, 2, 0).unwrap();
    [first, second].map(|attendance| {
        let group = attendance.complete(Duration::from_secs(20)).unwrap();
        Arc::new(Communicator::new("unit".to_owned(), group, Config::from_environment(), false))
    })
}

#[test]
fn loss_that_one_look_found_stays_until_a_step_has_seen_it() {
    let [first, second] = pair();
    let terms = Terms { count: 0, element: 7, reduction: 0, root: 0 };
    let place = Place { rank: 0, ranks: 2 };
    let barrier = plan::collective(Kind::Barrier, 0, terms, place, |_| Vec::new(), |_| Vec::new());
    let run = Run::new(first, Arc::new(barrier), 0);
    assert!(run.is_ready(), "it has not begun");
    assert!(!run.step().unwrap());
    assert!(!run.is_ready(), "it waits for rank 1");
    drop(second);
    while !run.is_ready() {
        thread::yield_now();
    }
    // The thread that asked first may not be the one that steps, and the next look is far away.
    assert!((0..20).all(|_| run.is_ready()));
    let failure = run.step().unwrap_err();
    assert_eq!(failure.code, ACL_ERROR_RT_SUSPECT_REMOTE_ERROR);
    assert!(failure.why.contains("rank 1 has destroyed the communicator"), "{}", failure.why);
}
