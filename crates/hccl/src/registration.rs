//! Memory that a program registers for zero copy or for windows, and links that it suspends. Collectives need neither:
//! registrations are checked and remembered, and have no other effect. What cannot be done says so.

use crate::communicator::{Handle, find};
use crate::failure::{Failure, HcclResult};
use crate::program;
use crate::runtime::runtime;
use crate::status::enter;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Registered ranges, by communicator and start.
static RANGES: LazyLock<Mutex<HashMap<(usize, usize), usize>>> = LazyLock::new(Mutex::default);
/// Windows, by handle, with their communicator.
static WINDOWS: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommSetMemoryRange(
    comm: Handle,
    base: *mut c_void,
    size: usize,
    _alignment: usize,
    flags: u64,
) -> HcclResult {
    enter("HcclCommSetMemoryRange", || {
        find(comm)?;
        if base.is_null() {
            return Err(Failure::null("baseVirPtr"));
        }
        if size == 0 || flags != 0 {
            return Err(Failure::Parameter(format!("size is {size} and flags are {flags}: use a size and no flags")));
        }
        let (start, end) = (base as usize, (base as usize).saturating_add(size));
        let mut ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
        let overlaps = |(other, len): (&(usize, usize), &usize)| {
            other.0 == comm as usize && other.1 < end && start < other.1 + len
        };
        if ranges.iter().any(overlaps) {
            return Err(Failure::Parameter(format!("{base:p} overlaps a range of this communicator")));
        }
        ranges.insert((comm as usize, start), size);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommUnsetMemoryRange(comm: Handle, base: *mut c_void) -> HcclResult {
    enter("HcclCommUnsetMemoryRange", || {
        find(comm)?;
        let removed = RANGES.lock().unwrap_or_else(PoisonError::into_inner).remove(&(comm as usize, base as usize));
        removed.map(drop).ok_or_else(|| Failure::NotFound(format!("{base:p} is not the start of a range")))
    })
}

/// True if an address is in a range of a communicator.
fn is_in_range(comm: Handle, pointer: *mut c_void, size: usize) -> bool {
    let start = pointer as usize;
    RANGES.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|((owner, base), len)| {
        *owner == comm as usize && start >= *base && size <= *len && start - base <= len - size
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommActivateCommMemory(
    comm: Handle,
    pointer: *mut c_void,
    size: usize,
    offset: usize,
    handle: *mut c_void,
    flags: u64,
) -> HcclResult {
    enter("HcclCommActivateCommMemory", || {
        find(comm)?;
        if handle.is_null() {
            return Err(Failure::null("handle"));
        }
        match offset == 0 && flags == 0 && is_in_range(comm, pointer, size) {
            true => Ok(()),
            false => Err(Failure::Parameter(format!(
                "{size} bytes at {pointer:p} (offset {offset}, flags {flags}) are not in a range of HcclCommSetMemoryRange"
            ))),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommDeactivateCommMemory(comm: Handle, pointer: *mut c_void) -> HcclResult {
    enter("HcclCommDeactivateCommMemory", || {
        find(comm)?;
        match is_in_range(comm, pointer, 1) {
            true => Ok(()),
            false => Err(Failure::NotFound(format!("{pointer:p} is not in a range of the communicator"))),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommRegister(
    comm: Handle,
    pointer: *mut c_void,
    size: u64,
    handle: *mut *mut c_void,
    _flag: u32,
) -> HcclResult {
    enter("HcclCommRegister", || {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        find(comm)?;
        runtime()?.view(pointer, size as usize, "addr")?;
        let key = NEXT.fetch_add(1, Ordering::Relaxed) << 4 | 3;
        program::write(handle, key as *mut c_void, "handle")?;
        WINDOWS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, comm as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommDeregister(comm: Handle, handle: *mut c_void) -> HcclResult {
    enter("HcclCommDeregister", || {
        find(comm)?;
        let removed = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner).remove(&(handle as usize));
        removed.map(drop).ok_or_else(|| Failure::NotFound(format!("{handle:p} is not a window")))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommExchangeMem(
    comm: Handle,
    handle: *mut c_void,
    peers: *mut u32,
    count: u32,
) -> HcclResult {
    enter("HcclCommExchangeMem", || {
        let ranks = find(comm)?.group.ranks();
        if !WINDOWS.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&(handle as usize)) {
            return Err(Failure::NotFound(format!("{handle:p} is not a window")));
        }
        let peers = program::read::<u32>(peers.cast_const(), count.min(ranks) as usize, "peerRanks")?;
        match peers.iter().find(|peer| **peer >= ranks) {
            Some(peer) => Err(Failure::Parameter(format!("rank {peer} does not exist: there are {ranks} ranks"))),
            None => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommSuspend(comm: Handle) -> HcclResult {
    unsupported("HcclCommSuspend", comm, "operators in flight cannot be suspended")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommResume(comm: Handle) -> HcclResult {
    unsupported("HcclCommResume", comm, "a communicator that failed cannot be resumed: destroy it and make a new one")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommWorkingDevNicSet(
    comm: Handle,
    _ranks: *mut u32,
    _use_backup: *mut bool,
    _count: u32,
) -> HcclResult {
    unsupported("HcclCommWorkingDevNicSet", comm, "there are no network interfaces to choose from")
}

fn unsupported(function: &str, comm: Handle, why: &str) -> HcclResult {
    enter(function, || find(comm).and_then(|_| Err(Failure::Unsupported(why.to_owned()))))
}
