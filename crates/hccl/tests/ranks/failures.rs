//! Ranks that disagree, and ranks that die.

use crate::api::*;
use crate::job::Rank;
use crate::model::{Collective, KIND_COUNT};
use std::ptr::null_mut;
use std::sync::Barrier;

const COUNT: u64 = 4096;
/// The code of a task that failed because of another rank.
const REMOTE_ERROR: i32 = 507_057;
/// The code of a task that waited for another rank for too long.
const TIMEOUT: i32 = 507_048;

/// In every round, the two ranks do something different; both get an error that names both.
pub fn disagree(rank: &Rank) {
    let stream = Stream::new();
    let cells = Buffer::new(&[0; COUNT as usize * 16]);
    let (at, s) = (cells.pointer, stream.0);
    let is_first = rank.rank == 0;
    type Call<'a> = Box<dyn Fn(Pointer) -> i32 + 'a>;
    // SAFETY: (for all calls below) the buffer is long enough for each of them and lives until the end.
    let rounds: Vec<(&str, Call)> = vec![
        ("count", Box::new(|comm| unsafe { HcclAllReduce(at, at, COUNT + u64::from(is_first), 4, 0, comm, s) })),
        ("type", Box::new(|comm| unsafe { HcclAllReduce(at, at, COUNT, if is_first { 4 } else { 2 }, 0, comm, s) })),
        ("reduction", Box::new(|comm| unsafe { HcclAllReduce(at, at, COUNT, 4, i32::from(is_first), comm, s) })),
        ("root", Box::new(|comm| unsafe { HcclBroadcast(at, COUNT, 4, u32::from(is_first), comm, s) })),
        (
            "order",
            Box::new(|comm| unsafe {
                match is_first {
                    true => HcclBroadcast(at, COUNT, 4, 0, comm, s),
                    false => HcclAllReduce(at, at, COUNT, 4, 0, comm, s),
                }
            }),
        ),
        (
            "transfer",
            Box::new(|comm| unsafe {
                match is_first {
                    true => HcclSend(at, COUNT, 4, 1, comm, s),
                    false => HcclRecv(at, COUNT / 2, 4, 0, comm, s),
                }
            }),
        ),
    ];
    for (number, (what, call)) in rounds.iter().enumerate() {
        let comm = part_of(rank, number as u64);
        check(call(comm));
        let code = stream.synchronize();
        let text = last_message();
        assert_eq!(code, REMOTE_ERROR, "{what}: {text}");
        assert!(text.contains("ranks 0 and 1 disagree") || text.contains("ranks 1 and 0 disagree"), "{what}: {text}");
        let mut error = 0;
        // SAFETY: the result is written to a variable that lives during the call.
        check(unsafe { HcclGetCommAsyncError(comm, &raw mut error) });
        assert_eq!(error, 21, "{what}");
        // The communicator is of no use anymore, and says why.
        check(call(comm));
        assert_eq!(stream.synchronize(), REMOTE_ERROR, "{what}");
        assert!(last_message().contains("disagree"), "{what}: {}", last_message());
        // SAFETY: a handle of this process.
        check(unsafe { HcclCommDestroy(comm) });
    }
}

/// A communicator of all ranks, for one round.
fn part_of(rank: &Rank, id: u64) -> Pointer {
    let mut ids: Vec<u32> = (0..rank.ranks).collect();
    let (mut parent, mut sub) = (rank.comm, null_mut());
    // SAFETY: the ids live during the call.
    let code = unsafe {
        let sub_at = &raw mut sub;
        HcclCreateSubCommConfig(&raw mut parent, rank.ranks, ids.as_mut_ptr(), id, rank.rank, null_mut(), sub_at)
    };
    check(code);
    sub
}

/// Rank 1 is killed after some all-reduces, once in the middle of a large one. The others get an error that names it; or,
/// if it had sent everything, the result.
pub fn death(rank: &Rank) {
    const LARGE: usize = 8 << 20;
    let stream = Stream::new();
    let cells = Buffer::new(&vec![0; LARGE]);
    let is_during = rank.seed.is_multiple_of(2);
    for number in 0..=rank.seed {
        let count = if number == rank.seed { LARGE as u64 / 4 } else { COUNT };
        if rank.rank == 1 && number == rank.seed {
            if is_during {
                // Queued, and perhaps half done, or done.
                // SAFETY: the buffer lives longer than the process.
                check(unsafe { HcclAllReduce(cells.pointer, cells.pointer, count, 4, 0, rank.comm, stream.0) });
            }
            // SAFETY: ends the process without running anything else.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        // SAFETY: the buffer lives until the stream was waited for.
        check(unsafe { HcclAllReduce(cells.pointer, cells.pointer, count, 4, 0, rank.comm, stream.0) });
        let code = stream.synchronize();
        let text = last_message();
        if number < rank.seed || (is_during && code == 0) {
            check(code);
            continue;
        }
        assert_eq!(code, REMOTE_ERROR, "{text}");
        assert!(text.contains("rank 1 has ended"), "{text}");
    }
}

/// Rank 1 is killed before it comes to a collective, or after it has queued it: every kind, for each. The others get an
/// error that names it; or, if it had sent everything, the result.
pub fn death_at(rank: &Rank) {
    let stream = Stream::new();
    let is_during = rank.seed >= KIND_COUNT;
    let collective = Collective::of_kind(rank.seed);
    if rank.rank == 1 {
        let submitted = is_during.then(|| collective.submit(rank, &stream));
        // SAFETY: ends the process without running anything else.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        drop(submitted);
    }
    let submitted = collective.submit(rank, &stream);
    let code = stream.synchronize();
    let text = last_message();
    if code == 0 {
        assert!(is_during, "{collective:?} succeeded without rank 1");
        return submitted.verify(rank);
    }
    assert_eq!(code, REMOTE_ERROR, "{collective:?}: {text}");
    assert!(text.contains("rank 1 has ended"), "{collective:?}: {text}");
}

/// Rank 1 does not call what rank 0 calls, until the time limit has passed there.
pub fn absent(rank: &Rank) {
    static IS_OVER: Barrier = Barrier::new(2);
    let stream = Stream::new();
    // Large enough that a rank does not have its result before the other has come.
    const MANY: u64 = 16 * COUNT;
    let cells = Buffer::new(&vec![0; MANY as usize * 4]);
    // SAFETY: the buffer lives until the stream was waited for.
    let reduce = || check(unsafe { HcclAllReduce(cells.pointer, cells.pointer, MANY, 4, 0, rank.comm, stream.0) });
    let expect = |code: i32, words: &str| {
        assert_eq!(stream.synchronize(), code, "{}", last_message());
        assert!(last_message().contains(words), "{}", last_message());
        let mut error = 0;
        // SAFETY: the result is written to a variable that lives during the call.
        check(unsafe { HcclGetCommAsyncError(rank.comm, &raw mut error) });
        assert_eq!(error, 21);
    };
    if rank.rank == 0 {
        reduce();
        expect(TIMEOUT, "rank 1 has not come");
        IS_OVER.wait();
    } else {
        IS_OVER.wait();
        // Too late: it receives the reason.
        reduce();
        expect(REMOTE_ERROR, "rank 1 has not come (rank 0 of communicator");
    }
}
