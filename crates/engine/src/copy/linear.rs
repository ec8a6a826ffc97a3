//! Copies of one contiguous range, synchronous and asynchronous.
//!
//! `try_fast_copy` is the fast path: it contains only what the common copy needs.

use crate::caller::Caller;
use crate::copy::direction::{Direction, blocks, direction};
use crate::copy::{kind_in, kinds, not_null};
use crate::task::kind::TaskKind;
use crate::task::moves::Move;
use crate::task::{Control, DeferredFailure};
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{self, AccessFault};
use softacl_memory::{MemoryKind, ResolvedAddress};
use softacl_profiles::AsyncHostToHost;

/// The last one exists only in versions with more than five kinds.
const KINDS: [i32; 6] = [
    kinds::HOST_TO_HOST,
    kinds::HOST_TO_DEVICE,
    kinds::DEVICE_TO_HOST,
    kinds::DEVICE_TO_DEVICE,
    kinds::DEFAULT,
    kinds::HOST_TO_BUFFER_TO_DEVICE,
];
/// A copy of one range, as the program passes it.
#[derive(Debug, Clone, Copy)]
pub struct CopyRequest {
    pub target: usize,
    /// Bytes at the destination, as the program declares them.
    pub capacity: usize,
    pub source: usize,
    pub count: usize,
    pub kind: i32,
}

impl Caller<'_> {
    /// Copies immediately and returns when the bytes are in place. Ordered with no stream.
    pub fn copy(&self, request: CopyRequest) -> Result<()> {
        let CopyRequest { target, capacity, source, count, kind } = request;
        if count == 0 && self.zero_count_is_success() {
            return Ok(());
        }
        not_null(target, "dst")?;
        not_null(source, "src")?;
        kind_in(kind, self.linear_kinds())?;
        check_count(count, capacity)?;
        if target == source {
            return Ok(());
        }
        self.blocking_context()?;
        let finder = self.machine.memory.finder();
        let target = finder.find("destination", target)?;
        let source = finder.find("source", source)?;
        drop(finder);
        self.check_not_remote([target, source])?;
        let span = self.span(target, source, count)?;
        if let (MemoryKind::Device(from), MemoryKind::Device(to)) = (source.place, target.place)
            && from != to
        {
            self.check_blocking_between((from, source.address), (to, target.address))?;
        }
        self.advise_capacity(target, capacity);
        self.copy_now(span, target, source)
    }

    /// Queues a copy on a stream. If host memory is pageable, drains the stream and copies.
    pub fn copy_async(&self, request: CopyRequest, stream: usize) -> Result<()> {
        if self.try_fast_copy(&request, stream) {
            return Ok(());
        }
        self.copy_async_checked(request, stream)
    }

    /// Fast path for the common copy: pinned to device or back, in bounds, on a stream of the current context. It
    /// proves that nothing is wrong and produces no errors. Returns `false`, having done nothing, if the full check
    /// must decide.
    #[inline]
    fn try_fast_copy(&self, request: &CopyRequest, stream: usize) -> bool {
        let CopyRequest { target, capacity, source, count, kind } = *request;
        let is_plain = kind as u32 <= kinds::DEFAULT as u32;
        if !self.machine.is_fast_path_open() || count == 0 || count > capacity || !is_plain {
            return false;
        }
        let Some((key, slot)) = self.fast_path_stream(stream) else { return false };
        match self.machine.memory.fast_path_span(target, source, count, &slot.value.hints) {
            Some(span) => self.machine.submit_fast(key, slot, span),
            None => false,
        }
    }

    /// Validates a copy in the order of the specification, then queues it or executes it.
    #[cold]
    #[inline(never)]
    fn copy_async_checked(&self, request: CopyRequest, stream: usize) -> Result<()> {
        let CopyRequest { target, capacity, source, count, kind } = request;
        if count == 0 && self.zero_count_is_success() {
            return Ok(());
        }
        not_null(target, "dst")?;
        not_null(source, "src")?;
        kind_in(kind, self.linear_kinds())?;
        let explicit = self.explicit_stream(stream)?;
        check_count(count, capacity)?;
        if self.machine.config.strict_alignment {
            check_alignment(target, source, self.machine.config.cann.copy_alignment)?;
        }
        let at = self.submission(explicit)?;
        let finder = self.machine.memory.finder();
        let target = finder.find("destination", target)?;
        let source = finder.find("source", source)?;
        drop(finder);
        if kind == kinds::HOST_TO_BUFFER_TO_DEVICE {
            return self.copy_staged(target, source, count, at);
        }
        let mut blocking = false;
        if !self.machine.is_on_chip() {
            let direction = direction(source.place, target.place, kind)?;
            if direction == Direction::HostToHost {
                return match self.machine.config.cann.async_h2h {
                    AsyncHostToHost::Refused => fail(Error::HostToHost),
                    AsyncHostToHost::FailsLate => {
                        let error = Error::DeviceCopy(Error::HostToHost.to_string());
                        self.queue(
                            at,
                            Control::Fail(Box::new(DeferredFailure {
                                error,
                                kind: TaskKind::HostToHostCopy,
                                touches: Box::default(),
                                run: None,
                            })),
                        )
                    }
                };
            }
            if direction != Direction::DeviceToDevice || kind == kinds::DEFAULT {
                self.check_not_remote([target, source])?;
            }
            blocking = blocks(direction, source.place, target.place);
            self.advise_kind(kind, direction, source, target);
        }
        if target.address == source.address {
            return Ok(());
        }
        self.check_sub_graph_copy(at)?;
        let span = self.span(target, source, count)?;
        self.advise_capacity(target, capacity);
        if blocking {
            self.check_may_drain(at.stream)?;
            self.drain_for(at, source.place, target.place)?;
            return self.copy_now(span, target, source);
        }
        // The program may have unmapped its memory when this thread copies inline.
        let is_pageable = source.place == MemoryKind::Pageable || target.place == MemoryKind::Pageable;
        let _guard = is_pageable.then(softacl_memory::segv::enter);
        self.queue_between(at, [source.place, target.place], Move::Copy(span))
    }

    /// The kinds of a linear copy in the emulated version.
    fn linear_kinds(&self) -> &'static [i32] {
        &KINDS[..KINDS.len().min(self.machine.config.cann.copy_kinds as usize)]
    }

    /// Queues a copy whose bytes are taken during the call, so that the source may change immediately.
    fn copy_staged(
        &self,
        target: ResolvedAddress,
        source: ResolvedAddress,
        count: usize,
        at: super::Submission<'_>,
    ) -> Result<()> {
        if source.place.is_device() || !target.place.is_device() {
            return fail(Error::Parameter(format!(
                "copy kind 5 goes from host to device memory, not from {} to {}",
                source.describe(),
                target.describe()
            )));
        }
        self.check_not_remote([target, source])?;
        let span = self.span(target, source, count)?;
        let _guard = softacl_memory::segv::enter();
        let inaccessible = |AccessFault| Error::Inaccessible { side: "source", address: source.address, len: count };
        let none = || Error::NoHostBuffer { what: "a staging buffer", asked: count };
        // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
        let buffer =
            unsafe { bytes::take(bytes::buffer(count).ok_or_else(none)?, span.source) }.map_err(inaccessible)?;
        self.queue(at, Move::Staged { buffer, target: span.target })
    }
}

fn check_count(count: usize, capacity: usize) -> Result<()> {
    if count == 0 {
        return fail(Error::Parameter("the copy has no bytes (count is 0)".to_owned()));
    }
    if count > capacity {
        return fail(Error::Capacity { count, capacity });
    }
    Ok(())
}

fn check_alignment(target: usize, source: usize, alignment: usize) -> Result<()> {
    for (name, address) in [("destination", target), ("source", source)] {
        if address % alignment != 0 {
            return fail(Error::Parameter(format!(
                "{name} address {address:#x} is not aligned to {alignment} bytes, which strict mode requires"
            )));
        }
    }
    Ok(())
}
