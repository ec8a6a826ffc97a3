//! Memory sets: bytes and 32-bit words.
//!
//! On host memory the asynchronous calls fill immediately, on the calling thread, and are not ordered after earlier
//! work of the stream (specification 1.8).

use crate::caller::Caller;
use crate::copy::{check_last_byte, not_null};
use crate::observer::AccessKind;
use crate::task::moves::Move;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes;
use softacl_memory::touch::{Mode, Touch};
use softacl_memory::{MemoryKind, ResolvedAddress};

/// A memory set of bytes, as the program passes it.
#[derive(Debug, Clone, Copy)]
pub struct FillRequest {
    pub target: usize,
    pub capacity: usize,
    pub byte: u8,
    pub count: usize,
}

/// A memory set of 32-bit words, as the program passes it.
#[derive(Debug, Clone, Copy)]
pub struct WordFillRequest {
    pub target: usize,
    /// Bytes at the destination.
    pub capacity: usize,
    pub word: u32,
    /// Number of words to set.
    pub count: usize,
}

impl Caller<'_> {
    /// Fills memory with a byte and returns when it is done.
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
        let resolved = self.resolve_target(target, count)?;
        // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
        self.fill_now(resolved, count, |backing| unsafe { bytes::fill(backing, byte, count) })
    }

    /// Queues a fill with a byte. Host memory is filled immediately.
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
        let resolved = self.resolve_target(target, count)?;
        if !resolved.place.is_device() {
            // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
            return self.fill_now(resolved, count, |backing| unsafe { bytes::fill(backing, byte, count) });
        }
        self.queue_between(at, [resolved.place; 2], Move::Fill { target: resolved.reach, byte, len: count })
    }

    /// Fills memory with a 32-bit word and returns when it is done.
    pub fn fill_words(&self, request: WordFillRequest) -> Result<()> {
        let Some(resolved) = self.check_words(request)? else { return Ok(()) };
        self.blocking_context()?;
        let WordFillRequest { word, count, .. } = request;
        // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
        self.fill_now(resolved, 4 * count, |backing| unsafe { bytes::fill_words(backing, word, count) })
    }

    /// Queues a fill with a 32-bit word. Host memory is filled immediately.
    pub fn fill_words_async(&self, request: WordFillRequest, stream: usize) -> Result<()> {
        let Some(resolved) = self.check_words(request)? else { return Ok(()) };
        let explicit = self.explicit_stream(stream)?;
        let at = self.submission(explicit)?;
        if at.stream.context() != Some(at.context) {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        let WordFillRequest { word, count, .. } = request;
        if !resolved.place.is_device() {
            // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
            return self.fill_now(resolved, 4 * count, |backing| unsafe { bytes::fill_words(backing, word, count) });
        }
        self.queue_between(at, [resolved.place; 2], Move::FillWords { target: resolved.reach, word, count })
    }

    /// Validates a fill with words. `None` if there is nothing to do, which is always so on chips without the feature.
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
        let resolved = self.machine.memory.finder().find("destination", target)?;
        if resolved.place == MemoryKind::Pageable {
            return fail(Error::Argument(format!("{target:#x} was not allocated or registered through the runtime")));
        }
        if !self.machine.config.profile.chip.copy.memset_d32 {
            return Ok(None);
        }
        resolved.covers("destination", bytes)?;
        Ok(Some(resolved))
    }

    /// Resolves and checks the target of a fill.
    fn resolve_target(&self, target: usize, count: usize) -> Result<ResolvedAddress> {
        let resolved = self.machine.memory.finder().find("destination", target)?;
        resolved.covers("destination", count)?;
        Ok(resolved)
    }

    /// Fills on the calling thread, immediately.
    fn fill_now(
        &self,
        resolved: ResolvedAddress,
        len: usize,
        fill: impl FnOnce(usize) -> std::result::Result<(), bytes::AccessFault>,
    ) -> Result<()> {
        let _guard = softacl_memory::segv::enter();
        check_last_byte("destination", resolved, len)?;
        let inaccessible =
            |bytes::AccessFault| Error::Inaccessible { side: "destination", address: resolved.address, len };
        let touches = || vec![Touch { address: resolved.address, len, mode: Mode::Write }];
        self.machine.with_access(AccessKind::MemorySet, touches, || Ok(fill(resolved.reach).map_err(inaccessible)?))
    }
}
