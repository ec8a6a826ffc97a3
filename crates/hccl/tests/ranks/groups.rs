//! Groups of calls that one thread makes for several ranks, or that run together.

use crate::api::*;
use crate::job::{Rank, new_root};
use std::ptr::null_mut;

/// One thread makes two ranks join, in a group inside a group, and lets them reduce.
pub fn joins() {
    let root = new_root();
    let mut comms = [null_mut(); 2];
    check(HcclGroupStart());
    for (rank, comm) in comms.iter_mut().enumerate() {
        use_device(rank as i32);
        check(HcclGroupStart());
        // SAFETY: the root info has its length, and the handle is written to an array that lives until the group ends.
        check(unsafe { HcclCommInitRootInfo(2, root.as_ptr().cast(), rank as u32, comm) });
        check(HcclGroupEnd());
        assert!(comm.is_null(), "the call takes effect at the end of the outer group");
    }
    check(HcclGroupEnd());
    assert_eq!(HcclGroupEnd(), 1, "there is no group anymore");
    let ranks = [0, 1].map(|rank| {
        use_device(rank as i32);
        (Stream::new(), Buffer::new(&(rank as i32 + 1).to_le_bytes()), comms[rank])
    });
    // Each call belongs to the device that is current when it is made, not to that of the end of the group.
    check(HcclGroupStart());
    for (at, (stream, cell, comm)) in ranks.iter().enumerate() {
        use_device(at as i32);
        // SAFETY: the buffer lives until the stream was waited for.
        check(unsafe { HcclAllReduce(cell.pointer, cell.pointer, 1, 2, 0, *comm, stream.0) });
    }
    use_device(0);
    check(HcclGroupEnd());
    for (at, (stream, cell, comm)) in ranks.iter().enumerate() {
        use_device(at as i32);
        check(stream.synchronize());
        assert_eq!(cell.bytes(), 3_i32.to_le_bytes());
        // SAFETY: a handle of this process.
        check(unsafe { HcclCommDestroy(*comm) });
    }
}

/// Collectives of a group are queued at its end, in their order.
pub fn collectives(rank: &Rank) {
    let stream = Stream::new();
    let cell = Buffer::new(&(rank.rank as i32 + 1).to_le_bytes());
    check(HcclGroupStart());
    for _ in 0..3 {
        // SAFETY: the buffer lives until the stream was waited for.
        check(unsafe { HcclAllReduce(cell.pointer, cell.pointer, 1, 2, 0, rank.comm, stream.0) });
    }
    check(stream.synchronize());
    assert_eq!(cell.bytes(), (rank.rank as i32 + 1).to_le_bytes(), "nothing is queued before the end");
    check(HcclGroupEnd());
    check(stream.synchronize());
    assert_eq!(cell.bytes(), 12_i32.to_le_bytes());
}
