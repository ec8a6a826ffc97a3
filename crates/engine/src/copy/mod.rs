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
use crate::task::Task;
use direction::Direction;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{CachePolicy, Span};
use softacl_memory::{MemoryKind, ResolvedAddress};
use std::time::Instant;

impl<'a> Caller<'a> {
    /// Submits a validated task.
    fn queue(&self, at: Submission<'_>, task: impl Into<Task>) -> Result<()> {
        self.machine.submit(at.key, at.stream, at.context, task).map(|_| ())
    }

    /// Refuses a range that exceeds its allocation, and two devices that cannot access each other.
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
        if let (MemoryKind::Device(from), MemoryKind::Device(to)) = (source.place, target.place) {
            self.machine.check_peers(from, to)?;
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

    /// Waits for the whole stream before a copy that pageable memory makes blocking.
    fn drain_for(&self, at: Submission<'_>, source: MemoryKind, target: MemoryKind) -> Result<()> {
        if self.machine.observer.is_none() {
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
        if self.machine.observer.is_some() && known && kind != kinds::DEFAULT && kind != direction as i32 {
            self.machine.advise(|| Advisory::Kind { declared: kind, source: source.place, target: target.place });
        }
    }

    /// Advises about a declared capacity that exceeds the allocation.
    #[inline]
    fn advise_capacity(&self, target: ResolvedAddress, capacity: usize) {
        if let (Some(_), Some(extent)) = (&self.machine.observer, target.extent) {
            let room = extent.size - (target.address - extent.start);
            if capacity > room {
                self.machine.advise(|| Advisory::Capacity { declared: capacity, room });
            }
        }
    }

    /// Requirements of a blocking copy: a context, on a device whose tasks are not being aborted.
    fn blocking_context(&self) -> Result<()> {
        let (_, context) = self.context_or_default()?;
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

fn not_null(address: usize, name: &'static str) -> Result<()> {
    if address == 0 { fail(Error::Null(name)) } else { Ok(()) }
}

fn kind_in(kind: i32, allowed: &[i32]) -> Result<()> {
    if allowed.contains(&kind) {
        return Ok(());
    }
    fail(Error::Argument(format!("copy kind {kind} is not allowed here; allowed: {allowed:?}")))
}
