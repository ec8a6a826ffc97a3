//! Streams: making, waiting for, asking about, ending.

use super::Caller;
use crate::context::Context;
use crate::executor::budget;
use crate::host::deadline;
use crate::keys::{ContextKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::Object;
use crate::stream::{Stream, StreamOptions, StreamSettings};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Ordering, lock};

/// Failures of ended streams that are kept.
const MAX_UNOBSERVED: usize = 16;
/// How often an abort looks whether a callback has come late to a thread that never asks for it.
const ABORT_LOOK_MS: i32 = 10;

impl Caller<'_> {
    pub fn create_stream(&self, traits: StreamOptions) -> Result<StreamKey> {
        let (key, context) = self.context_or_default()?;
        self.machine.check_not_lost(i64::from(context.device()))?;
        let device = &self.machine.devices[context.device() as usize];
        let limit = self.machine.config.profile.chip.limits.streams;
        if device.streams.fetch_add(1, Ordering::AcqRel) >= limit {
            device.streams.fetch_sub(1, Ordering::AcqRel);
            let soc = self.machine.config.profile.soc.clone();
            return fail(Error::NoStream { device: context.device(), limit, soc });
        }
        self.machine.make_stream(key, context, traits).inspect_err(|_| {
            device.streams.fetch_sub(1, Ordering::AcqRel);
        })
    }

    /// Waits for the stream's tasks and ends it.
    pub fn destroy_stream(&self, raw: usize) -> Result<()> {
        let key = self.own_stream(raw)?;
        self.machine.emit_ending(Object::Stream(key.index() as u32), false);
        self.machine.end_stream(key);
        Ok(())
    }

    /// Ends the stream and drops what has not started, without waiting.
    pub fn destroy_stream_by_force(&self, raw: usize) -> Result<()> {
        let key = self.own_stream(raw)?;
        let stream = self.machine.streams.slot(key);
        if !self.machine.streams.retire(key) {
            return fail(Error::Handle { what: "stream", handle: raw });
        }
        self.machine.emit_ending(Object::Stream(key.index() as u32), true);
        self.machine.drop_pending(key, stream);
        self.machine.unlink(key, stream);
        lock(&self.machine.limbo).push(key);
        Ok(())
    }

    /// A stream that this thread may end.
    fn own_stream(&self, raw: usize) -> Result<StreamKey> {
        let (key, stream) = self.explicit_stream(raw)?.ok_or(Error::Null("stream"))?;
        let (context_key, context) = self.context()?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        if lock(&context.state).default_stream == Some(key) {
            return fail(Error::Parameter("the default stream of a context cannot be destroyed".to_owned()));
        }
        check_not_capturing(stream, "destroyed")?;
        Ok(key)
    }

    /// Waits for everything submitted so far, and returns the first failure since the last wait.
    pub fn synchronize_stream(&self, raw: usize, timeout_ms: i32) -> Result<()> {
        if self.machine.is_fast_path_open()
            && let Some((_, slot)) = self.fast_path_stream(raw)
            && slot.value.is_clean()
            && self.machine.pools.are_empty()
        {
            budget::refill();
            return Ok(());
        }
        self.synchronize_stream_checked(raw, timeout_ms)
    }

    #[inline(never)]
    fn synchronize_stream_checked(&self, raw: usize, timeout_ms: i32) -> Result<()> {
        let explicit = self.explicit_stream(raw)?;
        self.context()?;
        let (key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        check_not_capturing(stream, "waited for")?;
        if !stream.is_waited_for() {
            return Ok(());
        }
        self.drain(key, stream, timeout_ms)
    }

    pub(crate) fn drain(&self, key: StreamKey, stream: &Stream, timeout_ms: i32) -> Result<()> {
        let point = StreamPoint { stream: key, sequence: stream.newest() };
        if !self.machine.wait(point, deadline(timeout_ms)) {
            return fail(Error::StreamTimeout(timeout_ms));
        }
        self.machine.trim_after_wait();
        if let Some(error) = stream.take_failure() {
            return fail(error);
        }
        match stream.context() {
            Some(context) => self.machine.contexts.slot(context).check(),
            None => Ok(()),
        }
    }

    /// Whether everything submitted so far is finished.
    pub fn is_stream_finished(&self, raw: usize) -> Result<bool> {
        let explicit = self.explicit_stream(raw)?;
        self.context()?;
        let (key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        check_not_capturing(stream, "queried")?;
        let point = StreamPoint { stream: key, sequence: stream.newest() };
        Ok(!stream.is_waited_for() || self.machine.reached(point))
    }

    /// Drops what has not started and waits for what has.
    pub fn abort_stream(&self, raw: usize) -> Result<()> {
        let (key, stream) = self.stream(raw)?;
        check_not_capturing(stream, "aborted")?;
        let runs = self.machine.drop_pending(key, stream);
        // A step that stands still goes on now that its run is given up.
        self.machine.poll_external_waits();
        let point = StreamPoint { stream: key, sequence: stream.newest() };
        // A callback that was just being handed to its thread is taken back at the next look.
        while !self.machine.wait(point, deadline(ABORT_LOOK_MS)) {
            self.machine.subscriptions.cancel(self.machine, key);
        }
        for end in runs.iter().filter_map(|run| run.end.get()) {
            self.machine.wait(*end, None);
        }
        Ok(())
    }

    /// The number of a stream: stable while it lives, small, unique in the process.
    pub fn stream_number(&self, raw: usize) -> Result<i32> {
        Ok(self.stream(raw)?.0.index() as i32)
    }

    pub fn stream_traits(&self, raw: usize) -> Result<StreamOptions> {
        Ok(self.stream(raw)?.1.traits())
    }

    pub fn stream_settings(&self, raw: usize) -> Result<StreamSettings> {
        Ok(*lock(&self.stream(raw)?.1.settings))
    }

    pub fn change_stream_settings(&self, raw: usize, change: impl FnOnce(&mut StreamSettings)) -> Result<()> {
        change(&mut lock(&self.stream(raw)?.1.settings));
        Ok(())
    }

    pub fn set_stream_priority(&self, raw: usize, priority: u32) -> Result<()> {
        self.stream(raw)?.1.set_priority(priority);
        Ok(())
    }

    /// Whether a failed task stops the context of the stream.
    pub fn stops_on_failure(&self, raw: usize) -> Result<bool> {
        let (_, stream) = self.stream(raw)?;
        Ok(self.context_of(stream)?.stops_on_failure())
    }

    /// Makes a failed task stop the context of the stream. It cannot be taken back.
    pub fn set_stop_on_failure(&self, raw: usize, stop: bool) -> Result<()> {
        let (_, stream) = self.stream(raw)?;
        let context = self.context_of(stream)?;
        match (context.stops_on_failure(), stop) {
            (true, false) => fail(Error::Feature("the failure mode cannot be switched back to CONTINUE".to_owned())),
            (false, true) => {
                context.stop_on_failure();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn context_of(&self, stream: &Stream) -> Result<&Context> {
        let key = stream.context().ok_or(Error::ContextGone)?;
        self.machine.contexts.get(key).ok_or_else(|| Box::new(Error::ContextGone))
    }
}

/// Refuses what cannot be done with a stream that captures.
pub(super) fn check_not_capturing(stream: &Stream, what: &'static str) -> Result<()> {
    if stream.capture().is_some() { fail(Error::Capturing(what)) } else { Ok(()) }
}

impl Machine {
    pub(crate) fn emit_ending(&self, object: Object, by_force: bool) {
        if let Some(probe) = self.probe() {
            probe.ending(object, by_force);
        }
    }

    pub(crate) fn make_stream(&self, key: ContextKey, context: &Context, traits: StreamOptions) -> Result<StreamKey> {
        self.reap_destroyed();
        let mut state = lock(&context.state);
        if state.is_ending {
            return fail(Error::ContextGone);
        }
        let open = |stream: &Stream, _| stream.open(key, context.device(), traits);
        let stream = self.streams.insert(open).ok_or(Error::NoHandle("stream"))?;
        state.streams.push(stream);
        if let Some(probe) = self.probe() {
            probe.created(Object::Stream(stream.index() as u32));
        }
        Ok(stream)
    }

    /// Waits for a stream's tasks and ends it.
    pub(crate) fn end_stream(&self, key: StreamKey) {
        let stream = self.streams.slot(key);
        if !self.streams.retire(key) {
            return;
        }
        // A submit that saw the handle alive has pushed its task once the lock is ours.
        let last = lock(&stream.track.lane).submitted();
        self.wait(StreamPoint { stream: key, sequence: last }, None);
        self.unlink(key, stream);
        self.streams.recycle(key);
    }

    /// Takes an ended stream out of its context and out of the count of its device.
    fn unlink(&self, key: StreamKey, stream: &Stream) {
        self.subscriptions.forget(self, key);
        if let Some(failure) = stream.take_failure() {
            let mut unobserved = lock(&self.unobserved);
            if unobserved.len() < MAX_UNOBSERVED {
                unobserved.push(failure);
            }
        }
        let Some(context) = stream.context().map(|context| self.contexts.slot(context)) else { return };
        let mut state = lock(&context.state);
        state.streams.retain(|other| *other != key);
        if state.default_stream != Some(key) {
            self.devices[context.device() as usize].streams.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn reap_destroyed(&self) {
        lock(&self.limbo).retain(|key| {
            let busy = !lock(&self.streams.slot(*key).track.lane).is_idle();
            if !busy {
                self.streams.recycle(*key);
            }
            busy
        });
    }

    /// Streams with a queued or running task that may touch bytes that the engine reaches at `start`,
    /// and how far they must come until it is done.
    pub(crate) fn streams_using(&self, start: usize, len: usize) -> Vec<StreamPoint> {
        let busy = lock(&self.busy).clone();
        let mut users = Vec::new();
        for key in busy {
            let stream = self.streams.slot(key);
            let lane = lock(&stream.track.lane);
            if lane.is_idle() {
                stream.is_in_busy_list.store(false, Ordering::Relaxed);
                lock(&self.busy).retain(|other| other.index() != key.index());
                continue;
            }
            // What a running task touches is not known here; a host function touches nothing.
            let running = lane.is_claimed() && !stream.is_held.load(Ordering::Acquire);
            if running || lane.any(|task| task.touches(start, len)) {
                users.push(StreamPoint { stream: key, sequence: stream.newest() });
            }
        }
        users
    }
}
