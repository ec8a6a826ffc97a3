//! Copies: every call of the family as a request, checked here and nowhere else.
//!
//! A request holds what the program passed, untrusted. Its check goes through the conditions in the
//! order of the specification, because the first one decides the code that the program sees; it ends
//! in a task that the rest of the engine trusts. One file per group of calls.

mod batch;
mod descriptor;
mod direction;
mod fill;
mod linear;
mod plane;
pub(crate) mod rearrange;
mod reduce;

pub use batch::{BatchAttribute, BatchFailure, BatchRequest, FailIndex, Location};
pub use descriptor::{DescriptorRequest, OffsetRequest};
pub use fill::{FillRequest, WordFillRequest};
pub use linear::CopyRequest;
pub use plane::PlaneRequest;
pub use rearrange::{ElementChange, RearrangeRequest, TensorSource, TensorView};
pub use reduce::ReduceRequest;

use crate::bytes::{CachePolicy, Span};
use crate::calls::Caller;
use crate::context::ContextKey;
use crate::error::{Error, Result, fail};
use crate::memory::{MemoryKind, ResolvedAddress};
use crate::observer::{AccessKind, Advisory};
use crate::stream::{Stream, StreamKey};
use crate::sync::Ordering;
use crate::task::Task;
use direction::Direction;
use std::time::Instant;

/// Copy kinds, as the interface numbers them.
pub mod kinds {
    pub const HOST_TO_HOST: i32 = 0;
    pub const HOST_TO_DEVICE: i32 = 1;
    pub const DEVICE_TO_HOST: i32 = 2;
    pub const DEVICE_TO_DEVICE: i32 = 3;
    pub const DEFAULT: i32 = 4;
    pub const HOST_TO_BUFFER_TO_DEVICE: i32 = 5;
    pub const INNER_DEVICE_TO_DEVICE: i32 = 6;
    pub const INTER_DEVICE_TO_DEVICE: i32 = 7;
}

/// The stream of an asynchronous copy and the context that submits it.
#[derive(Clone, Copy)]
struct Submission<'a> {
    key: StreamKey,
    stream: &'a Stream,
    context: ContextKey,
}

impl<'a> Caller<'a> {
    /// Resolves the stream of an asynchronous call, in the order of the specification: a bad handle
    /// was found before, then the context must exist.
    fn submission(&self, explicit: Option<(StreamKey, &'a Stream)>) -> Result<Submission<'a>> {
        let (context, _) = self.context()?;
        let (key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        Ok(Submission { key, stream, context })
    }

    fn queue(&self, at: Submission<'_>, task: Task) -> Result<()> {
        self.machine.submit(at.key, at.stream, at.context, task).map(|_| ())
    }

    /// Refuses a range that leaves its allocation and a pair of devices that may not reach each other.
    #[inline]
    fn span(&self, target: ResolvedAddress, source: ResolvedAddress, len: usize) -> Result<Span> {
        // Allocations first: what is known to be wrong is worth more than what would wrap around.
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

    /// Refuses memory that was imported from a process on another device, where the host takes part.
    #[inline]
    fn check_not_remote(&self, spots: [ResolvedAddress; 2]) -> Result<()> {
        if spots.iter().any(|spot| spot.is_remote) { fail(Error::Distant) } else { Ok(()) }
    }

    /// Copies on the calling thread, now. Ordered with nothing.
    fn copy_now(&self, span: Span, target: ResolvedAddress, source: ResolvedAddress) -> Result<()> {
        let _hearing = crate::segv::enter();
        let named = |error: Error| match (error, target.place, source.place) {
            // Only ordinary memory can be missing, so it is known which side it was.
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

    /// Waits for the whole stream on behalf of a copy that pageable memory makes blocking.
    fn drain_for(&self, at: Submission<'_>, source: MemoryKind, target: MemoryKind) -> Result<()> {
        if self.machine.probe.is_none() {
            return self.drain(at.key, at.stream, -1);
        }
        let pending = at.stream.newest() - at.stream.track.completion.done();
        let start = Instant::now();
        let result = self.drain(at.key, at.stream, -1);
        self.machine.advise(|| Advisory::Blocked { drained: pending, waited: start.elapsed(), source, target });
        result
    }

    /// A declared kind that is not what the memory says.
    #[inline]
    fn advise_kind(&self, kind: i32, direction: Direction, source: ResolvedAddress, target: ResolvedAddress) {
        let known = source.place != MemoryKind::Pageable && target.place != MemoryKind::Pageable;
        if self.machine.probe.is_some() && known && kind != kinds::DEFAULT && kind != direction as i32 {
            self.machine.advise(|| Advisory::Kind { declared: kind, source: source.place, target: target.place });
        }
    }

    /// A declared capacity that is more than the allocation has.
    #[inline]
    fn advise_capacity(&self, target: ResolvedAddress, capacity: usize) {
        if let (Some(_), Some(extent)) = (&self.machine.probe, target.extent) {
            let room = extent.size - (target.address - extent.start);
            if capacity > room {
                self.machine.advise(|| Advisory::Capacity { declared: capacity, room });
            }
        }
    }

    /// What a blocking copy needs: a context, on a device whose tasks are not being aborted.
    fn blocking_context(&self) -> Result<()> {
        let (_, context) = self.context_or_default()?;
        let device = context.device();
        if self.machine.devices[device as usize].flags.load(Ordering::Acquire) != 0 {
            self.machine.check_device_usable(device)?;
        }
        self.check_may_block()
    }

    /// Chips that check batches first, those with UB links, cannot copy in a sub-graph (specification 1.2, 1.5).
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
