//! Callers: a thread of the program, the machine it calls, and its current context.
//!
//! The calls are in the modules of their nouns: `calls` in `stream`, `event`, `context`, `graph` and others, and
//! `copy`. This file has only what all of them need.

use crate::context::Context;
use crate::keys::{ContextKey, StreamKey};
use crate::machine::Machine;
use crate::observer::Advisory;
use crate::stream::Stream;
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_sync::facade::lock;
use softacl_sync::handle::Slot;
use std::cell::Cell;

/// A thread of the program, with its current context.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) current: &'a Cell<Option<ContextKey>>,
}

/// The stream of an asynchronous call, and the context that submits to it.
#[derive(Clone, Copy)]
pub(crate) struct Submission<'a> {
    pub(crate) key: StreamKey,
    pub(crate) stream: &'a Stream,
    pub(crate) context: ContextKey,
}

impl<'a> Caller<'a> {
    /// Creates the caller of a thread.
    ///
    /// # Safety
    ///
    /// Every address that is passed to a method of this caller comes from the program on whose behalf it acts. By passing
    /// it to a call, the program allows the engine to read and write memory there, during the call and until the queued
    /// work is done. The memory need not be mapped, and other threads may access it.
    pub unsafe fn new(machine: &'a Machine, current: &'a Cell<Option<ContextKey>>) -> Self {
        Caller { machine, current }
    }

    /// The machine that this thread calls.
    pub fn machine(&self) -> &'a Machine {
        self.machine
    }

    /// Resolves a stream handle for the fast path. `None` unless it is a live stream of the current context that is not
    /// redirected.
    #[inline]
    pub(crate) fn fast_path_stream(&self, raw: usize) -> Option<(StreamKey, &'a Slot<Stream>)> {
        let key = StreamKey::from_raw(raw)?;
        let slot = self.machine.streams.find(key)?;
        let current = self.current.get()?;
        (slot.value.context() == Some(current) && !slot.value.is_redirected()).then_some((key, slot))
    }

    /// The current context of this thread. If it has none and a default device is configured, the default context of
    /// that device becomes current.
    #[inline]
    pub(crate) fn context(&self) -> Result<(ContextKey, &'a Context)> {
        match self.explicit_context() {
            Some(current) => Ok(current),
            None => self.default_context(),
        }
    }

    /// The current context of this thread, if it has one.
    #[inline]
    pub(crate) fn explicit_context(&self) -> Option<(ContextKey, &'a Context)> {
        self.current.get().and_then(|key| Some((key, self.machine.contexts.get(key)?)))
    }

    /// Makes the default context of the configured default device current.
    #[cold]
    #[inline(never)]
    fn default_context(&self) -> Result<(ContextKey, &'a Context)> {
        let Some(device) = self.machine.default_device() else { return fail(Error::NoContext) };
        let (key, is_new) = {
            let mut primary = lock(&self.machine.devices[device as usize].primary);
            let is_new = primary.context.is_none();
            (self.machine.primary_context(&mut primary, device)?, is_new)
        };
        self.current.set(Some(key));
        if is_new {
            self.machine.call_hooks_of_new(key);
        }
        self.machine.advise(|| Advisory::DefaultDevice(device));
        Ok((key, self.machine.contexts.slot(key)))
    }

    /// Resolves a stream handle. 0 is the default stream, which requires a context.
    #[inline]
    pub(crate) fn stream(&self, raw: usize) -> Result<(StreamKey, &'a Stream)> {
        match self.explicit_stream(raw)? {
            Some(found) => Ok(found),
            None => self.default_stream(),
        }
    }

    /// Resolves a stream handle without requiring a context. `None` is the default stream.
    #[inline]
    pub(crate) fn explicit_stream(&self, raw: usize) -> Result<Option<(StreamKey, &'a Stream)>> {
        if raw == 0 {
            return Ok(None);
        }
        match StreamKey::from_raw(raw).and_then(|key| Some((key, self.machine.streams.get(key)?))) {
            Some(found) => Ok(Some(found)),
            None => fail(Error::Handle { what: HandleKind::Stream, handle: raw }),
        }
    }

    /// Resolves the stream of a call, in the order of the specification: the handle was resolved before, then a current
    /// context must exist, then `None` becomes its default stream.
    pub(crate) fn submission(&self, explicit: Option<(StreamKey, &'a Stream)>) -> Result<Submission<'a>> {
        let (context, _) = self.context()?;
        let (key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        Ok(Submission { key, stream, context })
    }

    /// Resolves the stream of a call like `submission`. The stream must belong to the current context.
    pub(crate) fn own_submission(&self, explicit: Option<(StreamKey, &'a Stream)>) -> Result<Submission<'a>> {
        let at = self.submission(explicit)?;
        if at.stream.context() != Some(at.context) {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        Ok(at)
    }

    /// The default stream of the current context.
    pub(crate) fn default_stream(&self) -> Result<(StreamKey, &'a Stream)> {
        let (_, context) = self.context()?;
        let key = lock(&context.state).default_stream.ok_or(Error::ContextGone)?;
        Ok((key, self.machine.streams.slot(key)))
    }
}
