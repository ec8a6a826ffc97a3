//! Setting memory: bytes and 32-bit words.
//!
//! On host memory the asynchronous calls fill at once, on the calling thread, and are not ordered
//! after earlier work of the stream (specification 1.8).

use super::not_null;
use crate::bytes;
use crate::calls::Caller;
use crate::error::{Error, Result, fail};
use crate::memory::{MemoryKind, ResolvedAddress};
use crate::observer::{AccessKind, Mode, Touch};
use crate::task::Task;

#[derive(Debug, Clone, Copy)]
pub struct FillRequest {
    pub target: usize,
    pub capacity: usize,
    pub byte: u8,
    pub count: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct WordFillRequest {
    pub target: usize,
    /// Bytes at the destination.
    pub capacity: usize,
    pub word: u32,
    /// Words to set.
    pub count: usize,
}

impl Caller<'_> {
    pub fn fill(&self, request: FillRequest) -> Result<()> {
        let FillRequest { target, capacity, byte, count } = request;
        if count == 0 {
            return Ok(());
        }
        not_null(target, "devPtr")?;
        self.blocking_context()?;
        if count > capacity {
            return fail(Error::Capacity { count, capacity });
        }
        let spot = self.resolve_target(target, count)?;
        self.fill_now(spot, count, |reach| bytes::fill(reach, byte, count))
    }

    pub fn fill_async(&self, request: FillRequest, stream: usize) -> Result<()> {
        let FillRequest { target, capacity, byte, count } = request;
        if count == 0 {
            return Ok(());
        }
        not_null(target, "devPtr")?;
        let explicit = self.explicit_stream(stream)?;
        if count > capacity {
            return fail(Error::Capacity { count, capacity });
        }
        let at = self.submission(explicit)?;
        if at.stream.context() != Some(at.context) {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        let spot = self.resolve_target(target, count)?;
        if !spot.place.is_device() {
            return self.fill_now(spot, count, |reach| bytes::fill(reach, byte, count));
        }
        self.queue(at, Task::Fill { target: spot.reach, byte, len: count })
    }

    pub fn fill_words(&self, request: WordFillRequest) -> Result<()> {
        let Some(spot) = self.check_words(request)? else { return Ok(()) };
        self.blocking_context()?;
        let WordFillRequest { word, count, .. } = request;
        self.fill_now(spot, 4 * count, |reach| bytes::fill_words(reach, word, count))
    }

    pub fn fill_words_async(&self, request: WordFillRequest, stream: usize) -> Result<()> {
        let Some(spot) = self.check_words(request)? else { return Ok(()) };
        let explicit = self.explicit_stream(stream)?;
        let at = self.submission(explicit)?;
        if at.stream.context() != Some(at.context) {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        let WordFillRequest { word, count, .. } = request;
        if !spot.place.is_device() {
            return self.fill_now(spot, 4 * count, |reach| bytes::fill_words(reach, word, count));
        }
        self.queue(at, Task::FillWords { target: spot.reach, word, count })
    }

    /// `None`: nothing to do, which on chips without the feature includes everything.
    fn check_words(&self, request: WordFillRequest) -> Result<Option<ResolvedAddress>> {
        let WordFillRequest { target, capacity, count, .. } = request;
        if count == 0 {
            return Ok(None);
        }
        not_null(target, "ptr")?;
        if target % 4 != 0 {
            return fail(Error::Argument(format!("{target:#x} is not aligned to 4 bytes")));
        }
        let bytes = count.checked_mul(4).filter(|bytes| *bytes <= capacity);
        let Some(bytes) = bytes else {
            return fail(Error::Argument(format!("{count} words do not fit {capacity} bytes (memSize)")));
        };
        let spot = self.machine.memory.finder().find("destination", target)?;
        if spot.place == MemoryKind::Pageable {
            return fail(Error::Argument(format!("{target:#x} was not allocated or registered through the runtime")));
        }
        if !self.machine.config.profile.chip.copy.memset_d32 {
            return Ok(None);
        }
        spot.covers("destination", bytes)?;
        Ok(Some(spot))
    }

    fn resolve_target(&self, target: usize, count: usize) -> Result<ResolvedAddress> {
        let spot = self.machine.memory.finder().find("destination", target)?;
        spot.covers("destination", count)?;
        Ok(spot)
    }

    fn fill_now(
        &self,
        spot: ResolvedAddress,
        len: usize,
        fill: impl FnOnce(usize) -> std::result::Result<(), bytes::AccessFault>,
    ) -> Result<()> {
        let _hearing = crate::segv::enter();
        let gone = |bytes::AccessFault| Error::Inaccessible { side: "destination", address: spot.address, len };
        let touches = || vec![Touch { address: spot.address, len, mode: Mode::Write }];
        self.machine.with_access(AccessKind::MemorySet, touches, || Ok(fill(spot.reach).map_err(gone)?))
    }
}
