//! Accesses that the fault handler records for the next call. A record has a fixed size, so that the handler allocates
//! nothing: it may have interrupted the allocator.

use super::area::PAGE;
use crate::backtrace::{InterruptedBacktrace, RawBacktrace};
use crate::host_access::{AccessType, FUNCTION, HostAccess, RunningFunction};
use std::mem::MaybeUninit;
use std::time::Instant;

/// What the handler knows about an access, and the contents of its page before it.
pub(super) struct FaultRecord {
    head: FaultHead,
    before: MaybeUninit<[u8; PAGE]>,
}

pub(super) struct FaultHead {
    sequence: u64,
    address: usize,
    kind: AccessType,
    /// `None` if the place is of no interest.
    backtrace: Option<InterruptedBacktrace>,
    when: Instant,
    thread: u32,
    function: Option<RunningFunction>,
    has_contents: bool,
}

impl FaultHead {
    pub(super) fn new(
        sequence: u64,
        address: usize,
        kind: AccessType,
        thread: u32,
        backtrace: Option<InterruptedBacktrace>,
    ) -> FaultHead {
        let (when, function) = (Instant::now(), FUNCTION.get());
        FaultHead { sequence, address, kind, backtrace, when, thread, function, has_contents: false }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl FaultRecord {
    /// Initializes a record in place. `read` fills the contents of the page and returns `false` if it cannot.
    pub(super) fn write(
        slot: &mut MaybeUninit<FaultRecord>,
        mut head: FaultHead,
        read: Option<impl FnOnce(&mut [u8]) -> bool>,
    ) {
        let record = slot.as_mut_ptr();
        if let Some(read) = read {
            // SAFETY: the field is part of the slot; zeroes initialize its bytes.
            let before = unsafe {
                let before = (&raw mut (*record).before).cast::<u8>();
                before.write_bytes(0, PAGE);
                std::slice::from_raw_parts_mut(before, PAGE)
            };
            head.has_contents = read(before);
        }
        // SAFETY: the field is part of the slot.
        unsafe { (&raw mut (*record).head).write(head) };
    }

    /// Converts the record, in a call.
    pub(super) fn into_access(self) -> HostAccess {
        let FaultHead { sequence, address, kind, backtrace, when, thread, function, has_contents } = self.head;
        let before = match has_contents {
            // SAFETY: `write` initialized the contents if it set the flag.
            true => unsafe { self.before.assume_init_ref() }.as_slice().into(),
            false => Box::default(),
        };
        let backtrace = backtrace.map_or_else(RawBacktrace::default, RawBacktrace::from);
        HostAccess { sequence, address, kind, backtrace, when, thread, function, call: None, before }
    }
}
