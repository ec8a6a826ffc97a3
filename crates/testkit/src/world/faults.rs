//! Fault injection: the oracle predicts the result of every call and task, and the machine must agree.
//!
//! A refused call changes nothing. A failed task moves nothing, and the next wait for its stream returns its code once.
//! A fault that stops a context or loses a device is injected only when nothing else runs, because the schedule
//! decides which other tasks would still run. Afterwards the contexts are destroyed and created again, as a program
//! has to do.

use super::outcome::{Failure, must_fail, ok};
use super::state::{BufferKind, BufferRange, ContextState, PendingTask, World};
use crate::faults::{ECC, EVENT_TIMEOUT, Effect, LOST, STREAM_TIMEOUT};
use softacl_engine::{Caller, CopyRequest, EventKind, FillRequest, StreamOptions, kinds};
use softacl_faults::{DeviceHealth, MatchContext};

/// Timeout of waits for a stuck task.
const STUCK_WAIT_MS: i32 = 2;

impl World<'_> {
    /// Makes a context of the world the current one.
    pub(super) fn enter(&self, context: usize) -> Result<(), Failure> {
        ok(self.caller.set_current_context(self.contexts[context].handle))
    }

    /// Makes the context of a stream the current one. Returns the handle of the stream.
    pub(super) fn enter_stream(&self, stream: usize) -> Result<usize, Failure> {
        self.enter(self.streams[stream].context)?;
        Ok(self.streams[stream].handle)
    }

    /// Applies the rules for calls, as the entry of the C API does. Returns `true` if the call is refused.
    pub(super) fn is_refused(&mut self, function: &'static str, size: usize) -> Result<bool, Failure> {
        let expected = self.oracle.call(function, size);
        if expected == Some(Effect::Lost) {
            self.quiesce()?;
        }
        let machine = self.caller.machine();
        let context =
            || MatchContext { size: Some(size as u64), device: Some(self.device.into()), ..MatchContext::default() };
        let fired = machine.injection().and_then(|injection| injection.call(function, context));
        let found = fired.and_then(|fired| machine.injected_call_error(&fired, Some(self.device))).map(|e| e.code());
        let code = match expected {
            Some(Effect::Code(code)) => Some(code),
            Some(Effect::Lost) => Some(LOST),
            _ => None,
        };
        if found != code {
            return Err(format!("{function} of {size} bytes: the rules return {found:?}, the model {code:?}"));
        }
        if expected == Some(Effect::Lost) {
            self.expect_lost()?;
        }
        Ok(code.is_some())
    }

    /// Allocates device memory. `None` if the rules refuse it.
    pub(super) fn device_memory(&mut self, size: usize) -> Result<Option<usize>, Failure> {
        self.enter(0)?;
        if self.is_refused("aclrtMalloc", size)? {
            return Ok(None);
        }
        let expected = self.oracle.allocation(size);
        let allocated = self.caller.allocate(size);
        match expected {
            None => ok(allocated).map(Some),
            Some(code) => must_fail(allocated, code, "an allocation").map(|()| None),
        }
    }

    /// Submits a task and checks the effect of the rules on it. Returns `true` if the task runs, so that the caller
    /// must apply it to the model.
    pub(super) fn submit(
        &mut self,
        pending: &PendingTask<'_>,
        call: impl FnOnce(&Caller<'_>, usize) -> softacl_engine::Result<()>,
    ) -> Result<bool, Failure> {
        let stream = pending.stream;
        if self.is_refused(pending.function, pending.size)? || !self.streams[stream].live {
            return Ok(false);
        }
        let crosses = [BufferKind::Device, BufferKind::Peer]
            .iter()
            .all(|kind| pending.parts.iter().any(|(part, _)| self.buffers[part.buffer].kind == *kind));
        let effect = self.oracle.task(pending.kind, pending.size, crosses);
        let stops = self.contexts[self.streams[stream].context].stops;
        let is_disruptive = match effect {
            Some(Effect::Code(_)) => stops,
            Some(effect) => !matches!(effect, Effect::SlowUs(_)),
            None => false,
        };
        if is_disruptive {
            self.quiesce()?;
        }
        let handle = self.enter_stream(stream)?;
        ok(call(&self.caller, handle))?;
        self.task(stream, pending.parts);
        match effect {
            None | Some(Effect::SlowUs(_)) => return Ok(true),
            Some(Effect::Code(code)) => {
                self.streams[stream].expect_failure(&[code]);
                if stops {
                    self.expect_stopped(stream, code)?;
                }
            }
            Some(Effect::Stuck) => self.expect_stuck(stream)?,
            Some(Effect::Ecc) => {
                self.streams[stream].expect_failure(&[ECC]);
                if stops {
                    self.repair_memory(pending.parts)?;
                    self.expect_stopped(stream, ECC)?;
                } else {
                    self.expect_bad_memory(stream, pending.parts)?;
                }
            }
            Some(Effect::Lost) => self.expect_lost()?,
        }
        Ok(false)
    }

    /// Waits for every stream, so that all pending failures have been returned.
    pub(super) fn quiesce(&mut self) -> Result<(), Failure> {
        (0..self.streams.len()).try_for_each(|stream| self.synchronize(stream))
    }

    /// Checks a stuck task: it never starts, waits time out, and an abort removes it together with the record behind it.
    /// A stop removes the task alone.
    fn expect_stuck(&mut self, stream: usize) -> Result<(), Failure> {
        let handle = self.enter_stream(stream)?;
        let caller = self.caller;
        let event = ok(caller.create_event(EventKind::Extended(1)))?.raw();
        ok(caller.record_event(event, handle))?;
        must_fail(caller.synchronize_stream(handle, STUCK_WAIT_MS), STREAM_TIMEOUT, "a wait for a stuck stream")?;
        must_fail(caller.synchronize_event(event, STUCK_WAIT_MS), EVENT_TIMEOUT, "a wait for its event")?;
        must_fail(caller.synchronize_device(STUCK_WAIT_MS), STREAM_TIMEOUT, "a wait for its device")?;
        if ok(caller.is_stream_finished(handle))? {
            return Err("a stuck stream is reported as finished".to_owned());
        }
        if stream.is_multiple_of(2) {
            ok(caller.stop_stream(handle))?;
            ok(caller.synchronize_event(event, -1))?;
        } else {
            ok(caller.abort_stream(handle))?;
        }
        ok(caller.destroy_event(event))?;
        self.synchronize(stream)
    }

    /// Checks bad memory: every access to it fails until it is repaired.
    fn expect_bad_memory(&mut self, stream: usize, parts: &[(&BufferRange, bool)]) -> Result<(), Failure> {
        self.synchronize(stream)?;
        let caller = self.caller;
        if let Some((part, _)) = parts.iter().find(|(part, _)| self.buffers[part.buffer].kind == BufferKind::Device) {
            let (kind, address) = (self.buffers[part.buffer].kind, self.address(part));
            let ranges = self.bad_ranges()?;
            if let Some(bad) = ranges.iter().find(|bad| (bad.0..bad.0 + bad.1).contains(&address)) {
                let mut byte = 0u8;
                let (target, source) = (&raw mut byte as usize, bad.0);
                let request = CopyRequest { target, capacity: 1, source, count: 1, kind: kinds::DEFAULT };
                must_fail(caller.copy(request), ECC, "a blocking copy of bad memory")?;
                let handle = self.enter_stream(stream)?;
                let request = FillRequest { target: source, capacity: bad.1, byte: 0xee, count: bad.1 };
                ok(caller.fill_async(request, handle))?;
                self.task(stream, &[]);
                self.streams[stream].expect_failure(&[ECC]);
                self.synchronize(stream)?;
            } else if !ranges.is_empty() {
                return Err(format!("bad memory is {ranges:x?}, not {address:#x} ({kind:?})"));
            }
        }
        self.repair_memory(parts)
    }

    /// Returns starts and lengths of the bad memory on the devices of the world.
    fn bad_ranges(&self) -> Result<Vec<(usize, usize)>, Failure> {
        let mut found = Vec::new();
        for device in [Some(self.device), self.peer].into_iter().flatten() {
            if let DeviceHealth::BadMemory(ranges) = ok(self.caller.machine().health(device.into()))? {
                found.extend(ranges.iter().map(|bad| (bad.start, bad.len)));
            }
        }
        Ok(found)
    }

    /// Repairs all bad memory, which must lie in memory that the task uses.
    fn repair_memory(&mut self, parts: &[(&BufferRange, bool)]) -> Result<(), Failure> {
        let machine = self.caller.machine();
        for (start, len) in self.bad_ranges()? {
            let is_used = parts.iter().any(|(part, _)| {
                let address = self.address(part);
                address <= start && start + len <= address + part.range.len()
            });
            if !is_used && !self.extra_input.contains(&start) {
                return Err(format!("{len} bytes at {start:#x} are bad, but the task does not use them"));
            }
            let devices = [Some(self.device), self.peer].into_iter().flatten();
            let mut is_repaired = false;
            for device in devices {
                is_repaired |= ok(machine.repair_memory(device.into(), start, len))?;
            }
            if !is_repaired {
                return Err(format!("{len} bytes at {start:#x} could not be repaired"));
            }
        }
        match self.bad_ranges()?.as_slice() {
            [] => Ok(()),
            left => Err(format!("{left:x?} is still bad")),
        }
    }

    /// Checks a context that a failed task stopped: every call in it returns the code; other contexts continue.
    fn expect_stopped(&mut self, stream: usize, code: i32) -> Result<(), Failure> {
        let context = self.streams[stream].context;
        self.synchronize(stream)?;
        let handle = self.enter_stream(stream)?;
        let caller = self.caller;
        must_fail(caller.synchronize_stream(handle, -1), code, "another wait in a stopped context")?;
        must_fail(caller.synchronize_device(-1), code, "a wait for a stopped context")?;
        must_fail(caller.record_event(self.events[0].handle, handle), code, "a record in a stopped context")?;
        if let Some(buffer) = self.buffer(0, &[BufferKind::Device]) {
            let target = self.buffers[buffer].address;
            let request = FillRequest { target, capacity: 1, byte: 0xee, count: 1 };
            must_fail(caller.fill_async(request, handle), code, "a task in a stopped context")?;
        }
        for other in (0..self.contexts.len()).filter(|other| *other != context) {
            self.enter(other)?;
            ok(caller.synchronize_device(-1)).map_err(|why| format!("another context than the stopped one: {why}"))?;
        }
        self.recreate_contexts(&[context])
    }

    /// Checks a lost device: every call on it returns the code until all its contexts are destroyed.
    fn expect_lost(&mut self) -> Result<(), Failure> {
        let caller = self.caller;
        let affected: Vec<usize> =
            (0..self.contexts.len()).filter(|at| self.contexts[*at].device == self.device).collect();
        if ok(caller.machine().health(self.device.into()))? != DeviceHealth::Lost {
            return Err("the device is not reported as lost".to_owned());
        }
        for context in &affected {
            self.enter(*context)?;
            must_fail(caller.synchronize_device(-1), LOST, "a wait for a lost device")?;
            must_fail(caller.allocate(64), LOST, "an allocation on a lost device")?;
            must_fail(caller.create_stream(StreamOptions::default()), LOST, "a new stream on a lost device")?;
        }
        must_fail(caller.create_context(self.device.into()), LOST, "a new context on a lost device")?;
        if let Some(stream) = self.stream(0) {
            let handle = self.enter_stream(stream)?;
            must_fail(caller.synchronize_stream(handle, -1), LOST, "a wait on a lost device")?;
            if let Some(buffer) = self.buffer(0, &[BufferKind::Device]) {
                let target = self.buffers[buffer].address;
                let request = FillRequest { target, capacity: 1, byte: 0xee, count: 1 };
                must_fail(caller.fill_async(request, handle), LOST, "a task on a lost device")?;
                let mut byte = 0u8;
                let host = &raw mut byte as usize;
                let request = CopyRequest { target: host, capacity: 1, source: target, count: 1, kind: kinds::DEFAULT };
                must_fail(caller.copy(request), LOST, "a blocking copy from a lost device")?;
            }
        }
        if let Some(peer) = self.contexts.iter().position(|context| context.device != self.device) {
            self.enter(peer)?;
            ok(caller.synchronize_device(-1)).map_err(|why| format!("another device than the lost one: {why}"))?;
        }
        self.recreate_contexts(&affected)?;
        self.check_health()
    }

    /// Destroys contexts and creates them again, with streams. Memory stays allocated.
    fn recreate_contexts(&mut self, which: &[usize]) -> Result<(), Failure> {
        let mut missing = Vec::new();
        for context in which {
            ok(self.caller.destroy_context(self.contexts[*context].handle))?;
            for stream in self.streams.iter_mut().filter(|stream| stream.live && stream.context == *context) {
                stream.live = false;
                stream.failure = None;
                missing.push(*context);
            }
        }
        // Destroying the last context of a device resets the device, which repairs it.
        if self.contexts.iter().filter(|context| context.device == self.device).count() == which.len() {
            self.oracle.repair();
        }
        for context in which {
            let device = self.contexts[*context].device;
            let handle = ok(self.caller.create_context(device.into()))?.raw();
            self.contexts[*context] = ContextState { handle, device, stops: false };
        }
        self.enter(0)?;
        self.destroy_graphs()?;
        self.destroy_signals()?;
        missing.into_iter().take(3).try_for_each(|context| self.add_stream(context))
    }

    pub(super) fn stop_on_failure(&mut self, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        // With a pending failure the schedule would decide when the context stops.
        self.quiesce()?;
        let handle = self.enter_stream(stream)?;
        ok(self.caller.set_stop_on_failure(handle, true))?;
        self.contexts[self.streams[stream].context].stops = true;
        Ok(())
    }

    /// Compares the reported health of the device with the model.
    pub(super) fn check_health(&self) -> Result<(), Failure> {
        if self.oracle.is_empty() {
            return Ok(());
        }
        let found = ok(self.caller.machine().health(self.device.into()))?;
        let expected = match (self.oracle.is_link_down, self.oracle.has_failed) {
            (true, _) => DeviceHealth::LinkGone,
            (_, true) => DeviceHealth::Failed,
            _ => DeviceHealth::Well,
        };
        if found == expected { Ok(()) } else { Err(format!("the device is {found:?}, the model has {expected:?}")) }
    }

    pub(super) fn repair(&mut self) -> Result<(), Failure> {
        if self.oracle.is_empty() {
            return Ok(());
        }
        self.check_health()?;
        ok(self.caller.machine().repair_device(self.device.into()))?;
        self.oracle.repair();
        self.check_health()
    }
}
