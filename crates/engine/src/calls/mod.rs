//! What a thread of the program can ask for.
//!
//! A `Caller` is one thread: the machine it talks to and the context it has current. Copies are in
//! `copy`; everything else is here, one file per noun.

mod capture;
mod condition;
mod device;
mod event;
mod graph;
mod host;
mod ipc;
mod memory;
mod notify;
mod pool;
mod stream;
mod value;
mod virtual_memory;

pub use device::PeerStatus;
pub use event::EventStatus;
pub use memory::DeviceUsage;
pub(crate) use value::Values;
pub use virtual_memory::{AccessGrant, PhysicalRequest};

use crate::context::{Context, ContextKey};
use crate::error::{Error, HandleKind, Result, fail};
use crate::handle::Slot;
use crate::machine::Machine;
use crate::observer::Advisory;
use crate::stream::{Stream, StreamKey};
use crate::sync::lock;
use std::cell::Cell;

/// One thread of the program.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub(crate) machine: &'a Machine,
    current: &'a Cell<Option<ContextKey>>,
}

impl<'a> Caller<'a> {
    pub fn new(machine: &'a Machine, current: &'a Cell<Option<ContextKey>>) -> Self {
        Caller { machine, current }
    }

    pub fn machine(&self) -> &'a Machine {
        self.machine
    }

    /// A live stream of the current context, named by its handle.
    #[inline]
    pub(crate) fn fast_path_stream(&self, raw: usize) -> Option<(StreamKey, &'a Slot<Stream>)> {
        let key = StreamKey::from_raw(raw)?;
        let slot = self.machine.streams.find(key)?;
        let current = self.current.get()?;
        (slot.value.context() == Some(current) && !slot.value.is_redirected()).then_some((key, slot))
    }

    /// The context that this thread made current.
    #[inline]
    pub(crate) fn context(&self) -> Result<(ContextKey, &'a Context)> {
        let current = self.current.get().and_then(|key| Some((key, self.machine.contexts.get(key)?)));
        match current {
            Some(current) => Ok(current),
            None => fail(Error::NoContext),
        }
    }

    /// The same, or the default context of the configured default device. That one does not become
    /// current: the asynchronous copies ask for an explicit context (specification 4.3).
    pub(crate) fn context_or_default(&self) -> Result<(ContextKey, &'a Context)> {
        match (self.context(), self.machine.default_device()) {
            (Err(error), Some(device)) if *error == Error::NoContext => {
                let key =
                    self.machine.primary_context(&mut lock(&self.machine.devices[device as usize].primary), device)?;
                self.machine.advise(|| Advisory::DefaultDevice(device));
                Ok((key, self.machine.contexts.slot(key)))
            }
            (context, _) => context,
        }
    }

    /// Reads a stream handle; 0 is the default stream, which needs a context.
    #[inline]
    pub(crate) fn stream(&self, raw: usize) -> Result<(StreamKey, &'a Stream)> {
        match self.explicit_stream(raw)? {
            Some(found) => Ok(found),
            None => self.default_stream(),
        }
    }

    /// Reads a stream handle; `None` is the default stream of whatever context there will be.
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

    fn default_stream(&self) -> Result<(StreamKey, &'a Stream)> {
        let (_, context) = self.context()?;
        let key = lock(&context.state).default_stream.ok_or(Error::ContextGone)?;
        Ok((key, self.machine.streams.slot(key)))
    }
}
