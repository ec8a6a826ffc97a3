//! Copies: every call of the family as a request, validated here and nowhere else.
//!
//! A request contains the untrusted arguments of the program. The checks follow the order of the specification, because
//! the first failed check decides the code that the program receives. They end in a task that the rest of the engine
//! trusts. One file per group of calls.

mod batch;
mod descriptor;
mod direction;
mod fill;
pub mod kinds;
mod linear;
mod plane;
mod random;
pub(crate) mod rearrange;
mod reduce;

pub use batch::{BatchAttribute, BatchFailure, BatchRequest, FailIndex, Location};
pub use descriptor::{DescriptorRequest, OffsetRequest};
pub use fill::{FillRequest, WordFillRequest};
pub use linear::CopyRequest;
pub use plane::PlaneRequest;
pub use random::RandomRequest;
pub use rearrange::{ElementChange, RearrangeRequest, TensorSource, TensorView};
pub use reduce::ReduceRequest;

use crate::caller::{Caller, Submission};
use crate::observer::AccessKind;
use crate::observer::Advisory;
use crate::task::moves::Move;
use crate::task::{Control, DeferredFailure, Task};
use direction::Direction;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{self, CachePolicy, Span};
use softacl_memory::{MemoryKind, ResolvedAddress};
use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static BLOCKED: Cell<u64> = const { Cell::new(0) };
}

/// Number of asynchronous copies of the calling thread that pageable memory made blocking.
pub fn blocked_copies() -> u64 {
    BLOCKED.get()
}

impl<'a> Caller<'a> {
    /// Submits a validated task.
    fn queue(&self, at: Submission<'_>, task: impl Into<Task>) -> Result<()> {
        self.machine.submit(at.key, at.stream, at.context, task).map(|_| ())
    }

    /// Submits a task that accesses memory of devices. If the device of the stream cannot access it, or the two devices
    /// cannot access each other, the task is accepted and fails when it runs; with strict peer access the call is
    /// refused. Copies between host and device need no peer access.
    fn queue_between(&self, at: Submission<'_>, places: [MemoryKind; 2], task: Move) -> Result<()> {
        let [MemoryKind::Device(from), MemoryKind::Device(to)] = places else { return self.queue(at, task) };
        let own = at.stream.device();
        if from == own && to == own {
            return self.queue(at, task);
        }
        let pairs: &[(u32, u32)] = match (own == from || own == to, from == to) {
            (true, _) => &[(from, to)],
            (false, true) => &[(own, from)],
            (false, false) => &[(from, to), (own, from), (own, to)],
        };
        match pairs.iter().try_for_each(|&(one, other)| self.check_peers_of_call(one, other)) {
            Ok(()) => self.queue(at, task),
            Err(error) if self.machine.config.strict_peer => Err(error),
            Err(error) => {
                let failure = DeferredFailure { error: *error, kind: task.kind(), touches: Box::default(), run: None };
                self.queue(at, Control::Fail(Box::new(failure)))
            }
        }
    }

    /// Refuses two devices that cannot access each other, and advises about access in one direction only.
    fn check_peers_of_call(&self, one: u32, other: u32) -> Result<()> {
        let machine = self.machine;
        machine.check_peers(one, other)?;
        if let (Some(_), Some((device, peer))) = (machine.observer(), machine.one_way_peer(one, other)) {
            machine.advise(|| Advisory::OneWayPeer { device, peer });
        }
        Ok(())
    }

    /// Requirements of a blocking copy between devices: peer access, and no mapped memory.
    #[cold]
    fn check_blocking_between(&self, from: (u32, usize), to: (u32, usize)) -> Result<()> {
        self.check_peers_of_call(from.0, to.0)?;
        let is_mapped = |address| self.machine.memory.reserved.contains(address);
        if is_mapped(from.1) || is_mapped(to.1) { fail(Error::MappedBetweenDevices) } else { Ok(()) }
    }

    /// Refuses a range that exceeds its allocation.
    #[inline]
    fn span(&self, target: ResolvedAddress, source: ResolvedAddress, len: usize) -> Result<Span> {
        // Ranges with a known allocation first: exceeding it is a more precise error than an address overflow.
        match source.extent {
            Some(_) => {
                source.covers("source", len)?;
                target.covers("destination", len)?;
            }
            None => {
                target.covers("destination", len)?;
                source.covers("source", len)?;
            }
        }
        Ok(Span { target: target.reach, source: source.reach, len })
    }

    /// Refuses memory that was imported from a process on another device, in copies that involve the host.
    #[inline]
    fn check_not_remote(&self, addresses: [ResolvedAddress; 2]) -> Result<()> {
        if addresses.iter().any(|resolved| resolved.is_remote) { fail(Error::Remote) } else { Ok(()) }
    }

    /// Copies on the calling thread, immediately. Ordered with no stream.
    fn copy_now(&self, span: Span, target: ResolvedAddress, source: ResolvedAddress) -> Result<()> {
        let _guard = softacl_memory::segv::enter();
        check_last_byte("destination", target, span.len)?;
        check_last_byte("source", source, span.len)?;
        let named = |error: Error| match (error, target.place, source.place) {
            // Only pageable memory can be unmapped, so the failing side is known.
            (Error::Inaccessible { len, .. }, MemoryKind::Pageable, place) if place != MemoryKind::Pageable => {
                Error::Inaccessible { side: "destination", address: target.address, len }
            }
            (Error::Inaccessible { len, .. }, place, MemoryKind::Pageable) if place != MemoryKind::Pageable => {
                Error::Inaccessible { side: "source", address: source.address, len }
            }
            (error, ..) => error,
        };
        let touches = || self.machine.memory.touches_of(&span).to_vec();
        let run = || self.machine.copy_span(span, CachePolicy::of(span.len));
        self.machine.with_access(AccessKind::Copy, touches, run).map_err(|error| Box::new(named(*error)))
    }

    /// Waits for the whole stream before a copy that pageable memory makes blocking. The stream may be of another
    /// context, but not of another device.
    fn drain_for(&self, at: Submission<'_>, source: MemoryKind, target: MemoryKind) -> Result<()> {
        if self.machine.contexts.slot(at.context).device() != at.stream.device() {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        BLOCKED.set(BLOCKED.get() + 1);
        if let Some(clock) = self.machine.clock() {
            clock.begin_stall();
        }
        if self.machine.observer().is_none() {
            return self.drain(at.key, at.stream, -1);
        }
        let pending = at.stream.newest() - at.stream.tasks.completion.done();
        let start = Instant::now();
        let result = self.drain(at.key, at.stream, -1);
        self.machine.advise(|| Advisory::Blocked { drained: pending, waited: start.elapsed(), source, target });
        result
    }

    /// Advises about a declared copy kind that does not match the memory kinds.
    #[inline]
    fn advise_kind(&self, kind: i32, direction: Direction, source: ResolvedAddress, target: ResolvedAddress) {
        let known = source.place != MemoryKind::Pageable && target.place != MemoryKind::Pageable;
        if self.machine.observer().is_some() && known && kind != kinds::DEFAULT && kind != direction as i32 {
            self.machine.advise(|| Advisory::Kind { declared: kind, source: source.place, target: target.place });
        }
    }

    /// Advises about a declared capacity that exceeds the allocation.
    #[inline]
    fn advise_capacity(&self, target: ResolvedAddress, capacity: usize) {
        if let (Some(_), Some(extent)) = (self.machine.observer(), target.extent) {
            let room = extent.size - (target.address - extent.start);
            if capacity > room {
                self.machine.advise(|| Advisory::Capacity { declared: capacity, room });
            }
        }
    }

    /// Requirements of a blocking copy: a context, on a device whose tasks are not being aborted.
    fn blocking_context(&self) -> Result<()> {
        let (_, context) = self.context()?;
        let device = context.device();
        if !self.machine.devices[device as usize].reasons.is_empty() {
            self.machine.check_device_usable(device)?;
        }
        self.check_may_block()
    }

    /// Refuses copies in a sub-graph on chips that check batches first, which are those with UB links (specification
    /// 1.2, 1.5).
    #[inline]
    fn check_sub_graph_copy(&self, at: Submission<'_>) -> Result<()> {
        let refused = at.stream.is_redirected()
            && self.machine.config.profile.chip.copy.batch_validates_first
            && self.captures_sub_graph(at.stream);
        if refused { fail(self.machine.unsupported("a copy in a sub-graph")) } else { Ok(()) }
    }

    fn zero_count_is_success(&self) -> bool {
        self.machine.config.cann.zero_count == softacl_profiles::ZeroCount::Success
    }
}

/// Refuses a range of pageable memory whose last byte is not mapped. A wrong count is usually huge: found here, before
/// the first byte is written, it does not overwrite what happens to be mapped behind the buffer.
fn check_last_byte(side: &'static str, resolved: ResolvedAddress, len: usize) -> Result<()> {
    if resolved.place != MemoryKind::Pageable {
        return Ok(());
    }
    let last = resolved.address.wrapping_add(len).wrapping_sub(1);
    // SAFETY: the range is of a request of a `Caller`.
    match unsafe { bytes::read::<1>(last) } {
        Ok(_) => Ok(()),
        Err(bytes::AccessFault) => fail(Error::Inaccessible { side, address: resolved.address, len }),
    }
}

fn not_null(address: usize, name: &'static str) -> Result<()> {
    if address == 0 { fail(Error::Null(name)) } else { Ok(()) }
}

/// Refuses a copy kind that the emulated version or the call does not have.
fn kind_in(kind: i32, allowed: &[i32]) -> Result<()> {
    if allowed.contains(&kind) {
        return Ok(());
    }
    fail(Error::Argument(format!("copy kind {kind} is not allowed here; allowed: {allowed:?}")))
}
