//! Device allocations and the tracking of their pending uses.
//!
//! An allocation records the work that wrote it last and the work that has read it since, each as a ticket of a stream.
//! New work is ordered after the work that it depends on: by being on the same stream, or by an event. Blocking calls
//! and `Drop` wait for it. Writing requires `&mut`, so `writer` needs no lock; reads may be recorded by several threads.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::event;
use crate::raw;
use crate::stream::StreamInner;
use ascendcl_sys::ACL_MEM_MALLOC_HUGE_FIRST;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// A device allocation and its pending uses, independent of the element type.
pub(crate) struct Memory {
    address: usize,
    context: Context,
    writer: Option<PendingUse>,
    readers: Mutex<Vec<PendingUse>>,
}

/// Work of a stream that uses the buffer.
struct PendingUse {
    stream: Arc<StreamInner>,
    ticket: u64,
}

impl Memory {
    /// Allocates at least one byte.
    pub(crate) fn alloc(context: &Context, bytes: usize) -> Result<Memory> {
        let allocate = || {
            // SAFETY: the call has no preconditions; `with_current` sets the context.
            unsafe { raw::aclrtMalloc(bytes.max(1), ACL_MEM_MALLOC_HUGE_FIRST) }
        };
        let address = context.with_current(allocate)? as usize;
        Ok(Memory { address, context: context.clone(), writer: None, readers: Mutex::default() })
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut c_void {
        self.address as *mut c_void
    }

    #[inline]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Checks that the stream is on the device of the buffer and orders its next work after pending writes.
    #[inline]
    pub(crate) fn prepare_read(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.check_device(function, stream)?;
        self.wait_for_writes(function, stream)
    }

    /// Checks that the stream is on the device of the buffer and orders its next work after all pending uses.
    #[inline]
    pub(crate) fn prepare_write(&mut self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.check_device(function, stream)?;
        self.wait_for_uses(function, stream)
    }

    /// Orders the next work of a stream, of any device, after pending writes of the buffer.
    #[inline]
    pub(crate) fn wait_for_writes(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.order_before(function, stream))
    }

    /// Orders the next work of a stream, of any device, after all pending uses of the buffer.
    #[inline]
    pub(crate) fn wait_for_uses(&mut self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.wait_for_writes(function, stream)?;
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        readers.iter().try_for_each(|reader| reader.order_before(function, stream))
    }

    /// Records that work of a stream reads the buffer.
    #[inline]
    pub(crate) fn record_read(&self, stream: &Arc<StreamInner>, ticket: u64) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        match readers.iter_mut().find(|reader| Arc::ptr_eq(&reader.stream, stream)) {
            // Another thread may have recorded a later ticket.
            Some(reader) => reader.ticket = reader.ticket.max(ticket),
            None => readers.push(PendingUse { stream: Arc::clone(stream), ticket }),
        }
    }

    /// Records that work of a stream writes the buffer. The work is ordered after all earlier uses and replaces them.
    #[inline]
    pub(crate) fn record_write(&mut self, stream: &Arc<StreamInner>, ticket: u64) {
        match &mut self.writer {
            Some(writer) if Arc::ptr_eq(&writer.stream, stream) => writer.ticket = ticket,
            writer => *writer = Some(PendingUse { stream: Arc::clone(stream), ticket }),
        }
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Blocks until no pending work writes the buffer.
    pub(crate) fn wait_until_written(&self) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.stream.wait_ticket(writer.ticket))
    }

    /// Blocks until no pending work uses the buffer.
    pub(crate) fn wait_idle(&mut self) -> Result<()> {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut result = Ok(());
        let is_idle = self.writer.iter().chain(readers.iter()).all(|pending| {
            result = std::mem::replace(&mut result, Ok(())).and(pending.stream.wait_ticket(pending.ticket));
            pending.stream.is_done(pending.ticket)
        });
        if is_idle {
            self.writer = None;
            readers.clear();
        }
        result
    }

    pub(crate) fn check_device(&self, function: &'static str, stream: &StreamInner) -> Result<()> {
        let (own, other) = (self.context.device(), stream.context.device());
        if own == other {
            return Ok(());
        }
        let (own, other) = (own.index(), other.index());
        Err(Error::refused(function, format!("the buffer is on device {own}, the stream is on device {other}")))
    }
}

impl PendingUse {
    /// Orders the next work of a stream after this use. Does nothing if it is on the same stream or done.
    #[inline]
    fn order_before(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        if Arc::ptr_eq(&self.stream, stream) || self.stream.is_done(self.ticket) {
            return Ok(());
        }
        self.order(function, stream)
    }

    /// Inserts an event wait, or returns an error in strict mode.
    #[cold]
    fn order(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        if stream.context.is_strict() {
            let message = "the buffer is in use on another stream, and strict mode is on: wait for that work first";
            return Err(Error::refused(function, message.to_owned()));
        }
        let ordered = event::order(&self.stream, stream);
        if ordered.is_err() && self.stream.context.device() != stream.context.device() {
            // Waiting for an event of another device is not documented to work. The host can wait instead.
            self.stream.wait_ignoring_errors(self.ticket);
            return if self.stream.is_done(self.ticket) { Ok(()) } else { ordered };
        }
        ordered
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_unused = self.writer.iter().chain(readers.iter()).all(|pending| {
            pending.stream.wait_ignoring_errors(pending.ticket);
            pending.stream.is_done(pending.ticket)
        });
        if is_unused {
            // SAFETY: allocated by `alloc`, freed once, and no work uses it. Otherwise it is leaked.
            let _ = self.context.with_current(|| unsafe { raw::aclrtFree(self.raw()) });
        }
    }
}
