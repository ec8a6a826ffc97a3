//! Streams: creating, waiting, querying, ending. Aborting and stopping is in `abort`.

use crate::caller::{Caller, Submission};
use crate::context::Context;
use crate::executor::budget;
use crate::hooks::StreamChange;
use crate::keys::{ContextKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::{Object, Origin};
use crate::stream::{Stream, StreamOptions, StreamSettings};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_sync::facade::{Ordering, lock};

/// Maximum number of failures of ended streams that are kept.
const MAX_UNOBSERVED: usize = 16;
/// 0 is the highest priority.
pub const LOWEST_PRIORITY: u32 = 7;

impl Caller<'_> {
    /// Creates a stream in the current context.
    pub fn create_stream(&self, options: StreamOptions) -> Result<StreamKey> {
        let (key, context) = self.context()?;
        self.machine.check_not_lost(i64::from(context.device()))?;
        let priority = self.machine.checked_priority(options.priority)?;
        self.machine.take_streams(context.device(), 1)?;
        let made = self.machine.make_stream(key, context, StreamOptions { priority, ..options }, Origin::Program);
        match &made {
            Ok(stream) => self.machine.hooks.stream(*stream, StreamChange::Created),
            Err(_) => self.machine.release_streams(context.device(), 1),
        }
        made
    }

    /// Number of streams that can still be created on the current device.
    pub fn available_streams(&self) -> Result<u32> {
        let (_, context) = self.context()?;
        let used = self.machine.devices[context.device() as usize].streams.load(Ordering::Acquire);
        Ok(self.machine.config.profile.chip.limits.streams.saturating_sub(used))
    }

    /// Waits for the tasks of a stream and ends it.
    pub fn destroy_stream(&self, raw: usize) -> Result<()> {
        let key = self.own_stream(raw)?;
        self.machine.hooks.stream(key, StreamChange::Ending);
        self.machine.emit_ending(Object::Stream(key.index() as u32), false);
        self.machine.end_stream(key);
        Ok(())
    }

    /// Ends a stream and drops the tasks that have not started, without waiting.
    pub fn destroy_stream_by_force(&self, raw: usize) -> Result<()> {
        let key = self.own_stream(raw)?;
        self.machine.hooks.stream(key, StreamChange::Ending);
        let stream = self.machine.streams.slot(key);
        if !self.machine.streams.retire(key) {
            return fail(Error::Handle { what: HandleKind::Stream, handle: raw });
        }
        self.machine.emit_ending(Object::Stream(key.index() as u32), true);
        self.machine.drop_pending(key, stream);
        self.machine.unlink(key, stream);
        lock(&self.machine.destroyed).push(key);
        Ok(())
    }

    /// Resolves a stream that this thread may end.
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
        if stream.build().is_some() {
            return fail(Error::Parameter(
                "the stream is bound to a graph: call aclmdlRIUnbindStream first".to_owned(),
            ));
        }
        Ok(key)
    }

    /// Waits for everything submitted so far. Returns the first failure since the last wait.
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

    /// Waits for a stream after the full checks.
    #[inline(never)]
    fn synchronize_stream_checked(&self, raw: usize, timeout_ms: i32) -> Result<()> {
        let Submission { key, stream, .. } = self.submission(self.explicit_stream(raw)?)?;
        check_not_capturing(stream, "waited for")?;
        if !stream.is_waited_for() {
            return Ok(());
        }
        self.drain(key, stream, timeout_ms)
    }

    /// Waits for everything submitted to a stream and returns its failure.
    pub(crate) fn drain(&self, key: StreamKey, stream: &Stream, timeout_ms: i32) -> Result<()> {
        let aborts = stream.check_not_aborting(key)?;
        let point = StreamPoint { stream: key, sequence: stream.newest() };
        if !self.machine.wait(point, self.machine.deadline(timeout_ms)) {
            return fail(Error::StreamTimeout(timeout_ms));
        }
        stream.check_not_aborted_since(key, aborts)?;
        self.machine.trim_after_wait();
        if let Some(error) = stream.take_failure() {
            return fail(error);
        }
        match stream.context() {
            Some(context) => self.machine.contexts.slot(context).check(),
            None => Ok(()),
        }
    }

    /// Returns `true` if everything submitted so far is finished.
    pub fn is_stream_finished(&self, raw: usize) -> Result<bool> {
        let Submission { key, stream, .. } = self.submission(self.explicit_stream(raw)?)?;
        check_not_capturing(stream, "queried")?;
        let point = StreamPoint { stream: key, sequence: stream.newest() };
        let is_finished = !stream.is_waited_for() || self.machine.reached(point);
        match stream.failure() {
            Some(error @ Error::InGraph(_)) => fail(error),
            _ => Ok(is_finished),
        }
    }

    /// Id of a stream: stable for its lifetime, small, unique in the process.
    pub fn stream_id(&self, raw: usize) -> Result<i32> {
        Ok(self.stream(raw)?.0.index() as i32)
    }

    /// The options of a stream.
    pub fn stream_options(&self, raw: usize) -> Result<StreamOptions> {
        Ok(self.stream(raw)?.1.options())
    }

    /// The settable attributes of a stream.
    pub fn stream_settings(&self, raw: usize) -> Result<StreamSettings> {
        Ok(*lock(&self.stream(raw)?.1.settings))
    }

    /// Changes attributes of a stream.
    pub fn change_stream_settings(&self, raw: usize, change: impl FnOnce(&mut StreamSettings)) -> Result<()> {
        change(&mut lock(&self.stream(raw)?.1.settings));
        Ok(())
    }

    /// Sets the priority of a stream.
    pub fn set_stream_priority(&self, raw: usize, priority: u32) -> Result<()> {
        self.stream(raw)?.1.set_priority(priority.min(LOWEST_PRIORITY));
        Ok(())
    }

    /// Returns `true` if a failed task stops the context of the stream.
    pub fn stops_on_failure(&self, raw: usize) -> Result<bool> {
        let (_, stream) = self.stream(raw)?;
        Ok(self.context_of(stream)?.stops_on_failure())
    }

    /// Makes failed tasks stop the context of the stream. Cannot be undone.
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

/// Refuses an operation on a capturing stream.
pub(crate) fn check_not_capturing(stream: &Stream, what: &'static str) -> Result<()> {
    if stream.capture().is_some() { fail(Error::Capturing(what)) } else { Ok(()) }
}

impl Machine {
    /// Clamps a priority to those that exist, or refuses it where the version does.
    fn checked_priority(&self, priority: u32) -> Result<u32> {
        if priority > LOWEST_PRIORITY && self.config.cann.refuse_priority.include(self.config.profile.chip) {
            return fail(Error::Parameter(format!(
                "priority {priority} is not in 0 to {LOWEST_PRIORITY}, which CANN {} requires on {}",
                self.config.cann.version, self.config.profile.soc
            )));
        }
        Ok(priority.min(LOWEST_PRIORITY))
    }

    /// Takes streams from the limit of a device.
    pub(crate) fn take_streams(&self, device: u32, count: u32) -> Result<()> {
        let limit = self.config.profile.chip.limits.streams;
        let in_use = &self.devices[device as usize].streams;
        if in_use.fetch_add(count, Ordering::AcqRel) + count <= limit {
            return Ok(());
        }
        in_use.fetch_sub(count, Ordering::AcqRel);
        let soc = self.config.profile.soc.clone();
        match self.devices[device as usize].graph_streams.load(Ordering::Acquire) {
            0 => fail(Error::NoStream { device, limit, soc }),
            graphs => fail(Error::NoSharedStream { device, limit, graphs, soc }),
        }
    }

    /// Returns streams to the limit of a device.
    pub(crate) fn release_streams(&self, device: u32, count: u32) {
        self.devices[device as usize].streams.fetch_sub(count, Ordering::AcqRel);
    }

    /// Takes a stream for a graph from the limit of a device.
    pub(crate) fn take_graph_stream(&self, device: u32) -> Result<()> {
        // Counted first: if there is none left, graphs compete for them.
        let graphs = &self.devices[device as usize].graph_streams;
        graphs.fetch_add(1, Ordering::AcqRel);
        self.take_streams(device, 1).inspect_err(|_| {
            graphs.fetch_sub(1, Ordering::AcqRel);
        })
    }

    /// Returns the stream of a graph to the limit of a device.
    pub(crate) fn release_graph_stream(&self, device: u32) {
        self.devices[device as usize].graph_streams.fetch_sub(1, Ordering::AcqRel);
        self.release_streams(device, 1);
    }

    /// Creates a stream in a context.
    pub(crate) fn make_stream(
        &self,
        key: ContextKey,
        context: &Context,
        options: StreamOptions,
        origin: Origin,
    ) -> Result<StreamKey> {
        self.reap_destroyed();
        let mut state = lock(&context.state);
        if state.is_ending {
            return fail(Error::ContextGone);
        }
        let open = |stream: &Stream, _| stream.open(key, context.device(), options);
        let stream = self.streams.insert(open).ok_or(Error::NoHandle("stream"))?;
        state.streams.push(stream);
        if let Some(observer) = self.observer() {
            observer.created(Object::Stream(stream.index() as u32), origin);
        }
        Ok(stream)
    }

    /// Waits for the tasks of a stream and ends it.
    pub(crate) fn end_stream(&self, key: StreamKey) {
        let stream = self.streams.slot(key);
        if !self.streams.retire(key) {
            return;
        }
        // A submit that found the handle alive has pushed its task before this thread gets the lock.
        let last = lock(&stream.tasks.lane).submitted();
        self.wait(StreamPoint { stream: key, sequence: last }, None);
        self.unlink(key, stream);
        self.streams.recycle(key);
    }

    /// Removes an ended stream from its context and from the count of its device.
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
            self.release_streams(context.device(), 1);
        }
    }

    /// Recycles the slots of forcibly destroyed streams that have become idle.
    fn reap_destroyed(&self) {
        lock(&self.destroyed).retain(|key| {
            let busy = !lock(&self.streams.slot(*key).tasks.lane).is_idle();
            if !busy {
                self.streams.recycle(*key);
            }
            busy
        });
    }

    /// Streams with a queued or running task that may access the `len` bytes with the backing address `start`, and the
    /// points at which those tasks are done.
    pub(crate) fn streams_using(&self, start: usize, len: usize) -> Vec<StreamPoint> {
        let busy = lock(&self.busy).clone();
        let mut users = Vec::new();
        for key in busy {
            let stream = self.streams.slot(key);
            let lane = lock(&stream.tasks.lane);
            if lane.is_idle() {
                stream.is_in_busy_list.store(false, Ordering::Relaxed);
                lock(&self.busy).retain(|other| other.index() != key.index());
                continue;
            }
            // The accesses of a running task are unknown here. A host function accesses nothing.
            let running = lane.is_claimed() && !stream.is_held.load(Ordering::Acquire);
            if running || lane.any(|task| task.touches(start, len)) {
                users.push(StreamPoint { stream: key, sequence: stream.newest() });
            }
        }
        users
    }
}
