//! Custom allocators: their descriptions, and their registration for streams. Operators ask them for workspace; the
//! operators that softacl has need none, so the functions are stored and returned, and never called.

use crate::argument::{NonNullArg, OutPtr};
use crate::entry::{Call, export};
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A description, as far as the program has filled it.
#[derive(Clone, Copy, Default)]
struct Description {
    object: usize,
    allocate: aclrtAllocatorAllocFunc,
    free: aclrtAllocatorFreeFunc,
    allocate_at: aclrtAllocatorAllocAdviseFunc,
    address: aclrtAllocatorGetAddrFromBlockFunc,
}

#[derive(Default)]
struct Allocators {
    /// Number of the last handle.
    last: usize,
    descriptions: HashMap<usize, Description>,
    /// By stream: the handle of the description, which may be destroyed, and a copy of it.
    registered: HashMap<usize, (usize, Description)>,
}

static ALLOCATORS: LazyLock<Mutex<Allocators>> = LazyLock::new(Mutex::default);
/// Upper bits of handles. They differ from those of other handles and of addresses.
const MARK: usize = 0x5ac5 << 48;

fn allocators() -> MutexGuard<'static, Allocators> {
    ALLOCATORS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtAllocatorCreateDesc() -> aclrtAllocatorDesc {
    let mut all = allocators();
    all.last += 1;
    let handle = MARK | all.last << 4;
    all.descriptions.insert(handle, Description::default());
    handle as aclrtAllocatorDesc
}

export! {
    fn aclrtAllocatorDestroyDesc(description: NonNullArg) |call| {
        call.require_supported()?;
        let handle = description.address();
        allocators().descriptions.remove(&handle).map(|_| ()).ok_or_else(|| Box::new(unknown(handle)))
    }

    fn aclrtAllocatorSetObjToDesc(description: NonNullArg, object: aclrtAllocator) |call| {
        change(call, description, |description| description.object = object as usize)
    }

    fn aclrtAllocatorSetAllocFuncToDesc(description: NonNullArg, function: aclrtAllocatorAllocFunc) |call| {
        change(call, description, |description| description.allocate = function)
    }

    fn aclrtAllocatorSetFreeFuncToDesc(description: NonNullArg, function: aclrtAllocatorFreeFunc) |call| {
        change(call, description, |description| description.free = function)
    }

    fn aclrtAllocatorSetAllocAdviseFuncToDesc(
        description: NonNullArg, function: aclrtAllocatorAllocAdviseFunc
    ) |call| {
        change(call, description, |description| description.allocate_at = function)
    }

    fn aclrtAllocatorSetGetAddrFromBlockFuncToDesc(
        description: NonNullArg, function: aclrtAllocatorGetAddrFromBlockFunc
    ) |call| {
        change(call, description, |description| description.address = function)
    }

    /// A second registration replaces the first.
    fn aclrtAllocatorRegister(stream: aclrtStream, description: NonNullArg) |call| {
        call.require_supported()?;
        let stream = resolve(call, stream)?;
        let mut all = allocators();
        let handle = description.address();
        let found = *all.descriptions.get(&handle).ok_or_else(|| unknown(handle))?;
        if found.allocate.is_none() || found.free.is_none() || found.address.is_none() {
            return fail(Error::Parameter(
                "the description lacks a function: set those that allocate, free and return an address".to_owned(),
            ));
        }
        all.registered.insert(stream, (handle, found));
        Ok(())
    }

    fn aclrtAllocatorGetByStream(
        stream: aclrtStream, description: OutPtr<aclrtAllocatorDesc>, allocator: OutPtr<aclrtAllocator>,
        allocate: OutPtr<aclrtAllocatorAllocFunc>, free: OutPtr<aclrtAllocatorFreeFunc>,
        allocate_at: OutPtr<aclrtAllocatorAllocAdviseFunc>, address: OutPtr<aclrtAllocatorGetAddrFromBlockFunc>
    ) |call| {
        call.require_supported()?;
        let stream = resolve(call, stream)?;
        let (handle, found) = *allocators().registered.get(&stream).ok_or_else(not_registered)?;
        description.set(handle as aclrtAllocatorDesc)?;
        allocator.set(found.object as aclrtAllocator)?;
        allocate.set(found.allocate)?;
        free.set(found.free)?;
        allocate_at.set(found.allocate_at)?;
        address.set(found.address)
    }

    fn aclrtAllocatorUnregister(stream: aclrtStream) |call| {
        call.require_supported()?;
        let stream = resolve(call, stream)?;
        allocators().registered.remove(&stream).map(|_| ()).ok_or_else(|| Box::new(not_registered()))
    }
}

fn change(call: Call<'_>, description: NonNullArg, change: impl FnOnce(&mut Description)) -> Result<()> {
    call.require_supported()?;
    let handle = description.address();
    change(allocators().descriptions.get_mut(&handle).ok_or_else(|| unknown(handle))?);
    Ok(())
}

/// The handle of a live stream; NULL is the default stream of the current context.
fn resolve(call: Call<'_>, stream: aclrtStream) -> Result<usize> {
    call.stream_settings(stream as usize)?;
    if stream.is_null() { call.current_default_stream() } else { Ok(stream as usize) }
}

fn unknown(handle: usize) -> Error {
    Error::Parameter(format!("{handle:#x} is not a live allocator description"))
}

fn not_registered() -> Error {
    Error::Parameter("no allocator is registered for the stream".to_owned())
}
