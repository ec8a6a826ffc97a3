//! Devices and contexts: setting and resetting devices, contexts of threads, and peer access.

use crate::caller::Caller;
use crate::context::{Context, Primary};
use crate::hooks::{DeviceChange, StreamChange};
use crate::keys::{ContextKey, StreamPoint};
use crate::machine::{MAX_DEVICES, Machine};
use crate::observer::{Object, Origin};
use crate::slow_path::Reason;
use crate::stream::StreamOptions;
use crate::stream::calls::check_not_capturing;
use softacl_errors::{Error, Result, fail};
use softacl_profiles::{Form, Profile};
use softacl_sync::facade::{Ordering, lock};

/// Streams that a context uses, on chips and versions where it uses any.
const STREAMS_PER_CONTEXT: u32 = 2;

/// Access of a device to the memory of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerStatus {
    Usable,
    NotUsable,
}

impl Caller<'_> {
    /// Sets the device of this thread. Its default context becomes current, and its set count grows by one.
    pub fn set_device(&self, id: i64) -> Result<()> {
        let device = self.machine.device(id)?;
        self.machine.check_not_lost(id)?;
        let is_first = lock(&device.primary).context.is_none();
        if is_first {
            self.machine.hooks.device(id as u32, DeviceChange::Setting);
        }
        let mut primary = lock(&device.primary);
        let is_new = primary.context.is_none();
        let context = self.machine.primary_context(&mut primary, id as u32)?;
        primary.count += 1;
        self.current.set(Some(context));
        drop(primary);
        if is_new {
            self.machine.call_hooks_of_new(context);
        }
        if is_first {
            self.machine.hooks.device(id as u32, DeviceChange::Set);
        }
        Ok(())
    }

    /// Undoes one `set_device`. The last one waits for outstanding work and ends the default context.
    pub fn reset_device(&self, id: i64) -> Result<()> {
        self.release_device(id, |count| count - 1)
    }

    /// Ends the default context regardless of the set count.
    pub fn reset_device_by_force(&self, id: i64) -> Result<()> {
        self.release_device(id, |_| 0)
    }

    /// Lowers the set count to what `left` returns. At 0, ends the default context; the memory of a device ends with
    /// its last context.
    fn release_device(&self, id: i64, left: impl FnOnce(u32) -> u32) -> Result<()> {
        let device = self.machine.device(id)?;
        let mut primary = lock(&device.primary);
        if primary.count == 0 {
            return fail(Error::NotRetained(id as u32));
        }
        primary.count = left(primary.count);
        if primary.count > 0 {
            return Ok(());
        }
        let context = primary.context.take().expect("a device that is set has a context");
        drop(primary);
        self.machine.hooks.device(id as u32, DeviceChange::Resetting);
        self.machine.end_context(context)?;
        self.machine.restore(id as u32);
        // Under the lock: a thread that sets the device concurrently has a new context and keeps its memory.
        let primary = lock(&device.primary);
        let elsewhere = self.machine.contexts.live().any(|(_, context)| context.device() == id as u32);
        if primary.context.is_none() && !elsewhere {
            let memory = &self.machine.memory;
            self.machine.pools.end_of(id as u32);
            memory
                .device(id as u32)
                .clear(|start, len| self.machine.quarantine_until(memory.backing_address(start), len));
            self.drop_physical_of(id as u32);
            memory.trim(id as u32);
            if let Some(observer) = self.machine.observer() {
                observer.device_cleared(id as u32);
            }
        }
        drop(primary);
        self.machine.hooks.device(id as u32, DeviceChange::Reset);
        Ok(())
    }

    /// The device of the current context, or the configured default device, which this query does not set.
    pub fn device(&self) -> Result<u32> {
        match self.explicit_context() {
            Some((_, context)) => Ok(context.device()),
            None => self.machine.default_device().ok_or_else(|| Box::new(Error::NoContext)),
        }
    }

    /// Creates a context and makes it current.
    pub fn create_context(&self, device: i64) -> Result<ContextKey> {
        self.machine.device(device)?;
        self.machine.check_not_lost(device)?;
        let context = self.machine.make_context(device as u32, false)?;
        self.current.set(Some(context));
        self.machine.call_hooks_of_new(context);
        Ok(context)
    }

    /// Waits for the streams of a context and ends it. Refuses default contexts.
    pub fn destroy_context(&self, raw: usize) -> Result<()> {
        let key = ContextKey::from_raw(raw).ok_or(Error::NoContext)?;
        let context = self.machine.contexts.get(key).ok_or(Error::NoContext)?;
        if lock(&context.state).is_primary {
            return fail(Error::NoContext);
        }
        self.machine.end_context(key)
    }

    /// Makes a context current on this thread.
    pub fn set_current_context(&self, raw: usize) -> Result<()> {
        let key = ContextKey::from_raw(raw).filter(|key| self.machine.contexts.get(*key).is_some());
        let key = key.ok_or(Error::NotAContext(raw))?;
        self.current.set(Some(key));
        Ok(())
    }

    /// The current context, or the default context of the default device.
    pub fn current_context(&self) -> Result<ContextKey> {
        Ok(self.context()?.0)
    }

    /// Handle of the default stream of the current context.
    pub fn current_default_stream(&self) -> Result<usize> {
        self.context()?;
        Ok(self.stream(0)?.0.raw())
    }

    /// Waits for all streams of the current context. Returns the first failure among them.
    pub fn synchronize_device(&self, timeout_ms: i32) -> Result<()> {
        let (_, context) = self.context()?;
        let streams = lock(&context.state).streams.clone();
        let deadline = self.machine.deadline(timeout_ms);
        let (mut first, mut points) = (None, Vec::new());
        for key in streams {
            let Some(stream) = self.machine.streams.get(key) else { continue };
            check_not_capturing(stream, "waited for")?;
            if !stream.is_waited_for() {
                continue;
            }
            let aborts = stream.check_not_aborting(key)?;
            let point = StreamPoint { stream: key, sequence: stream.newest() };
            if !self.machine.wait_unobserved(point, deadline) {
                return fail(Error::StreamTimeout(timeout_ms));
            }
            stream.check_not_aborted_since(key, aborts)?;
            points.push(point);
            first = first.or(stream.take_failure());
        }
        // Emitted after the last wait, not one by one: the program observes the waits only when the call returns, and
        // host functions of a stream may run until then.
        for point in points {
            self.machine.emit_waited(point, true);
        }
        self.machine.trim_after_wait();
        context.check()?;
        first.map_or(Ok(()), fail)
    }

    /// True if the default context of a device exists.
    pub fn is_primary_active(&self, device: i64) -> Result<bool> {
        Ok(lock(&self.machine.device(device)?.primary).context.is_some())
    }

    /// Drops the tasks of a device that have not started and waits for the others.
    pub fn abort_device_tasks(&self, device: i64, timeout_ms: i32) -> Result<()> {
        let aborted = self.machine.device(device)?;
        let _aborting = self.machine.reasons.hold_for(&aborted.reasons, Reason::Aborting);
        let deadline = self.machine.deadline(timeout_ms);
        self.machine.invalidate_captures_of(device as u32);
        let mut result = Ok(());
        for (key, stream) in self.machine.streams.live() {
            if i64::from(stream.device()) != device {
                continue;
            }
            self.machine.drop_pending(key, stream);
            let point = StreamPoint { stream: key, sequence: stream.newest() };
            if !self.machine.wait(point, deadline) {
                result = fail(Error::StreamTimeout(timeout_ms));
            }
        }
        result
    }

    /// Returns `true` if two devices can access each other's memory.
    pub fn can_access_peer(&self, device: i64, peer: i64) -> Result<bool> {
        self.peer_ids(device, peer)?;
        if !self.machine.config.profile.chip.peer.supported || self.machine.is_on_chip() {
            return fail(self.machine.unsupported("peer access between devices"));
        }
        self.context()?;
        Ok(true)
    }

    /// Lets the current device and `peer` access each other. With strict peer access, both must have enabled the other.
    pub fn enable_peer_access(&self, peer: i64) -> Result<()> {
        let device = self.peer_of_current(peer)?;
        self.machine.devices[device as usize].peers.fetch_or(1 << peer, Ordering::AcqRel);
        Ok(())
    }

    /// Lets `device`, which need not be current, access the device with a physical id, or takes that back.
    pub fn set_peer_access(&self, device: i64, physical_peer: i64, is_enabled: bool) -> Result<()> {
        let peer = self.machine.user_device(physical_peer)?;
        self.peer_ids(device, peer.into())?;
        if !self.machine.config.profile.chip.peer.supported {
            return fail(self.machine.unsupported("peer access between devices"));
        }
        let peers = &self.machine.devices[device as usize].peers;
        match is_enabled {
            true => peers.fetch_or(1 << peer, Ordering::AcqRel),
            false => peers.fetch_and(!(1 << peer), Ordering::AcqRel),
        };
        Ok(())
    }

    /// Takes back what `enable_peer_access` allowed.
    pub fn disable_peer_access(&self, peer: i64) -> Result<()> {
        let device = self.peer_of_current(peer)?;
        let before = self.machine.devices[device as usize].peers.fetch_and(!(1 << peer), Ordering::AcqRel);
        if before & 1 << peer == 0 {
            let remedy = "it was not enabled, so it cannot be disabled".to_owned();
            return fail(Error::NoPeerAccess { from: device, to: peer as u32, remedy });
        }
        Ok(())
    }

    /// Returns whether a device can access a peer. `peer` is a physical device id, as in the C API.
    pub fn peer_status(&self, device: i64, peer: i64) -> Result<PeerStatus> {
        self.machine.device(device)?;
        if !(0..MAX_DEVICES as i64).contains(&peer) {
            return fail(Error::Parameter(format!("peer device {peer} is not in 0 to {}", MAX_DEVICES - 1)));
        }
        self.context()?;
        let usable = self
            .machine
            .user_device(peer)
            .is_ok_and(|peer| i64::from(peer) != device && self.machine.check_peers(device as u32, peer).is_ok());
        Ok(if usable { PeerStatus::Usable } else { PeerStatus::NotUsable })
    }

    /// Refuses device ids that do not exist or are equal.
    fn peer_ids(&self, device: i64, peer: i64) -> Result<()> {
        if device == peer {
            return fail(Error::Argument(format!("device and peer are the same device, {device}")));
        }
        self.machine.device(device)?;
        self.machine.device(peer)?;
        Ok(())
    }

    /// The current device, if it can have this peer.
    fn peer_of_current(&self, peer: i64) -> Result<u32> {
        let (_, context) = self.context()?;
        self.peer_ids(i64::from(context.device()), peer)?;
        if !self.machine.config.profile.chip.peer.supported {
            return fail(self.machine.unsupported("peer access between devices"));
        }
        Ok(context.device())
    }
}

impl Machine {
    /// Refuses an access between two devices of which none has enabled the other; with strict peer access, both must
    /// have.
    pub(crate) fn check_peers(&self, from: u32, to: u32) -> Result<()> {
        let peer = &self.config.profile.chip.peer;
        if from == to || !peer.enable_required {
            return Ok(());
        }
        let one_way = |device, other| {
            format!("aclrtDeviceEnablePeerAccess was called on device {device} only, and device {other} needs it too")
        };
        let remedy = match (self.has_enabled(from, to), self.has_enabled(to, from)) {
            (true, true) => return Ok(()),
            (true, false) | (false, true) if !self.config.strict_peer => return Ok(()),
            (true, false) => one_way(from, to),
            (false, true) => one_way(to, from),
            (false, false) if !peer.supported => "this chip has no peer access".to_owned(),
            (false, false) => "call aclrtDeviceEnablePeerAccess first; neither has enabled the other".to_owned(),
        };
        fail(Error::NoPeerAccess { from, to, remedy })
    }

    /// The device that has enabled the other, and the other, if only one of two devices has.
    pub(crate) fn one_way_peer(&self, one: u32, other: u32) -> Option<(u32, u32)> {
        let is_required = one != other && self.config.profile.chip.peer.enable_required;
        match (self.has_enabled(one, other), self.has_enabled(other, one)) {
            (true, false) if is_required => Some((one, other)),
            (false, true) if is_required => Some((other, one)),
            _ => None,
        }
    }

    fn has_enabled(&self, device: u32, peer: u32) -> bool {
        self.devices[device as usize].peers.load(Ordering::Acquire) & 1 << peer != 0
    }

    /// The default context of a device. Creates it on first use.
    pub(crate) fn primary_context(&self, primary: &mut Primary, device: u32) -> Result<ContextKey> {
        if let Some(context) = primary.context {
            return Ok(context);
        }
        let context = self.make_context(device, true)?;
        primary.context = Some(context);
        Ok(context)
    }

    /// Creates a context with its default stream.
    fn make_context(&self, device: u32, is_primary: bool) -> Result<ContextKey> {
        self.take_streams(device, self.streams_per_context())?;
        self.open_context(device, is_primary).inspect_err(|_| self.release_streams(device, self.streams_per_context()))
    }

    /// Streams that each context uses of the limit of its device.
    fn streams_per_context(&self) -> u32 {
        let Profile { chip, form, .. } = &self.config.profile;
        if *form == Form::Endpoint && self.config.cann.context_streams.include(chip) { STREAMS_PER_CONTEXT } else { 0 }
    }

    fn open_context(&self, device: u32, is_primary: bool) -> Result<ContextKey> {
        let full = || Error::NoHandle("context");
        let key = self.contexts.insert(|context, _| context.open(device, is_primary)).ok_or_else(full)?;
        let context = self.contexts.slot(key);
        match self.make_stream(key, context, StreamOptions::default(), Origin::Runtime) {
            Ok(stream) => {
                lock(&context.state).default_stream = Some(stream);
                if let Some(observer) = self.observer() {
                    let origin = if is_primary { Origin::Runtime } else { Origin::Program };
                    observer.created(Object::Context(key.index() as u32), origin);
                }
                Ok(key)
            }
            Err(error) => {
                self.contexts.remove(key);
                Err(error)
            }
        }
    }

    /// Calls the hooks for the default stream of a new context. The caller holds no lock.
    pub(crate) fn call_hooks_of_new(&self, context: ContextKey) {
        let stream = lock(&self.contexts.slot(context).state).default_stream;
        if let Some(stream) = stream {
            self.hooks.stream(stream, StreamChange::Created);
        }
    }

    /// Ends a context: waits for its streams, then ends them.
    fn end_context(&self, key: ContextKey) -> Result<()> {
        let context: &Context = self.contexts.slot(key);
        let streams = {
            let mut state = lock(&context.state);
            // Another thread may have ended the context, and its slot may have been reused.
            if state.is_ending || self.contexts.get(key).is_none() {
                return fail(Error::ContextGone);
            }
            state.is_ending = true;
            std::mem::take(&mut state.streams)
        };
        self.emit_ending(Object::Context(key.index() as u32), false);
        self.abandon_captures(key);
        for stream in streams {
            self.hooks.stream(stream, StreamChange::Ending);
            self.emit_ending(Object::Stream(stream.index() as u32), false);
            self.drop_stuck(stream);
            self.end_stream(stream);
        }
        self.end_graphs_of(key);
        let device = context.device();
        self.contexts.retire(key);
        // Before the slot is recycled: afterwards it belongs to another context.
        drop(lock(&context.host).take());
        self.free_overflow_flags(device, std::mem::take(&mut *lock(&context.overflow_flags)));
        context.close();
        self.contexts.recycle(key);
        self.release_streams(device, self.streams_per_context());
        if self.injection().is_some() && !self.contexts.live().any(|(_, other)| other.device() == device) {
            self.restore(device);
        }
        Ok(())
    }
}
