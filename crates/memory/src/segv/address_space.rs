//! The address space that the fault handler consults, and how it is published to the handler.

use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The address space that is consulted about faults: a pointer into its [`Domain`], null without one.
static CONSULTED: AtomicPtr<SpacePointer> = AtomicPtr::new(ptr::null_mut());

/// How the handler continues after a fault on guarded memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// Forwards the fault to the handler that was installed before.
    PassOn,
    /// Repeats the access.
    Repeat,
    /// Repeats the access as a single step, and calls the guard again right after it.
    Step,
}

/// Decides how accesses to pinned memory that an observer has protected continue.
///
/// The methods are called in a signal handler, on the faulting thread. An implementation may allocate, and may take
/// locks that no thread holds while it accesses memory that the guard protects.
pub trait PageGuard: Send + Sync {
    /// The instruction at `code` accessed `address`.
    fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction;
    /// The instruction that [`FaultAction::Step`] repeated is finished.
    fn stepped(&self);
    /// True if the guard may have protected an address outside pinned memory.
    fn watches(&self, address: usize) -> bool;
}

/// Answers the fault handler's questions about an address. Implementations allocate nothing and take no lock, except in
/// `allocated_from`.
pub trait AddressSpace {
    /// The guard that protects pinned memory, if an observer has one.
    fn guard(&self) -> Option<&dyn PageGuard>;
    /// True if this is an address of pinned memory that the guard may have protected.
    fn is_guarded(&self, address: usize) -> bool;
    /// True if this is a backing address of device memory. Device memory is writable there, except while it is moved
    /// into a file.
    fn is_backing(&self, address: usize) -> bool;
    /// Bytes from an address of the machine to the end of its allocation; 0 if it has none. `None` for memory of the
    /// program. The handler does not ask this, so an implementation may take locks.
    fn allocated_from(&self, address: usize) -> Option<usize>;
    /// Writes which device memory is at an address. Writes nothing for other addresses.
    fn describe(&self, address: usize, line: &mut dyn fmt::Write) -> fmt::Result;
}

/// A pointer to an address space that outlives its publication in [`CONSULTED`].
struct SpacePointer(*const dyn AddressSpace);

// SAFETY: `activate` accepts only address spaces that are `Sync`, and the pointer is never written after construction.
unsafe impl Send for SpacePointer {}
// SAFETY: as for `Send`.
unsafe impl Sync for SpacePointer {}

/// The part of an address space by which the fault handler finds it. Dropping the domain withdraws the address space.
#[derive(Default)]
pub struct Domain(OnceLock<SpacePointer>);

impl Domain {
    /// Makes the handler consult `space`, which contains this domain. Replaces the previous address space.
    ///
    /// # Safety
    ///
    /// `space` is not moved from now until it is dropped, and this domain is dropped with it.
    pub unsafe fn activate<S: AddressSpace + Sync + 'static>(&self, space: &S) {
        let pointer = self.0.get_or_init(|| SpacePointer(ptr::from_ref(space)));
        CONSULTED.store(ptr::from_ref(pointer).cast_mut(), Ordering::Release);
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        if let Some(pointer) = self.0.get() {
            let ours = ptr::from_ref(pointer).cast_mut();
            let _ = CONSULTED.compare_exchange(ours, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// The address space that is consulted now.
pub(super) fn consulted() -> Option<&'static dyn AddressSpace> {
    // SAFETY: `CONSULTED` is null or points into the domain of a live address space: `activate` requires that the space
    // is not moved, and `Domain::drop` clears the pointer.
    unsafe { CONSULTED.load(Ordering::Acquire).as_ref().map(|pointer| &*pointer.0) }
}
