//! Events: creating, recording, waiting, querying, timing.
//!
//! Sharing with other processes is in `ipc`; what happens when a record is reached is in `records`.

use crate::caller::{Caller, Submission};
use crate::event::{
    EVENT_CAPTURE_STREAM_PROGRESS, EVENT_DEVICE_USE_ONLY, EVENT_EXTERNAL, EVENT_IPC, EVENT_SYNC, EVENT_TIME_LINE,
    Event, EventKind, EventState, never_recorded,
};
use crate::keys::{EventKey, StreamKey, StreamPoint};
use crate::observer::{Object, Origin};
use crate::stream::Stream;
use crate::task::external_wait::{ExternalWait, WaitCondition};
use crate::task::{Control, Wait, Waited};
use crate::timeout::deadline;
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_memory::shared::SharedCounters;
use softacl_sync::facade::{Ordering, lock};
use std::sync::Arc;

/// Status of the newest record of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    NeverRecorded,
    Pending,
    Complete,
}

/// Bits that the API tests. Bit 0x4 has no name, and is accepted beside others.
const MASK: u32 = 0x7f;
/// All flags of the API.
const KNOWN_FLAGS: u32 =
    EVENT_SYNC | EVENT_CAPTURE_STREAM_PROGRESS | EVENT_TIME_LINE | EVENT_DEVICE_USE_ONLY | EVENT_EXTERNAL | EVENT_IPC;
/// Flags that cannot be combined with others.
const EXCLUSIVE_FLAGS: u32 = EVENT_DEVICE_USE_ONLY | EVENT_EXTERNAL | EVENT_IPC;

impl Caller<'_> {
    /// Number of events that can still be created on the current device.
    pub fn available_events(&self) -> Result<u32> {
        let (_, context) = self.context()?;
        let used = self.machine.devices[context.device() as usize].events.load(Ordering::Acquire);
        Ok(self.machine.config.profile.chip.limits.events.saturating_sub(used))
    }

    /// Creates an event.
    pub fn create_event(&self, kind: EventKind) -> Result<EventKey> {
        self.check_event_flags(kind)?;
        let (_, context) = self.context()?;
        let number = context.device();
        let device = &self.machine.devices[number as usize];
        let limit = self.machine.config.profile.chip.limits.events;
        if kind.is_counted() && device.events.fetch_add(1, Ordering::AcqRel) >= limit {
            device.events.fetch_sub(1, Ordering::AcqRel);
            return fail(Error::NoEvent { device: number, limit, soc: self.machine.config.profile.soc.clone() });
        }
        let shared = match kind.is_shared() {
            true => {
                let none = |error| Error::Feature(format!("no memory file for the event: {error}"));
                Some(Arc::new(SharedCounters::create().map_err(none)?))
            }
            false => None,
        };
        self.insert_event(kind, number, shared, Origin::Program)
    }

    /// Takes a slot for a new event.
    pub(super) fn insert_event(
        &self,
        kind: EventKind,
        number: u32,
        shared: Option<Arc<SharedCounters>>,
        origin: Origin,
    ) -> Result<EventKey> {
        let open = |event: &Event, key| {
            let mut state = lock(&event.state);
            // The generation continues, so that a record of the previous event in this slot cannot stamp the new one.
            let generation = state.generation + 1;
            *state = EventState {
                key: Some(key),
                kind,
                device: number,
                generation,
                shared,
                graph_event: kind.is_external().then(Arc::default),
                ..Default::default()
            };
            event.waits.store(0, Ordering::Relaxed);
        };
        let none = || Error::NoHandle("event");
        let key = self.machine.events.insert(open).ok_or_else(none)?;
        if let Some(observer) = self.machine.observer() {
            observer.created(Object::Event(key.index() as u32), origin);
        }
        Ok(key)
    }

    /// Refuses unknown flags and combinations.
    fn check_event_flags(&self, kind: EventKind) -> Result<()> {
        let (flags, wrong) = match kind {
            EventKind::Plain => return Ok(()),
            EventKind::Flagged(flags) => (flags, EVENT_IPC),
            EventKind::Extended(flags) => (flags, EVENT_EXTERNAL | EVENT_DEVICE_USE_ONLY),
        };
        let refuse = |why: &str| fail(Error::Parameter(format!("event flags {flags:#x}: {why}")));
        if flags & KNOWN_FLAGS == 0 || flags & !MASK != 0 {
            return refuse("they must contain one of the bits 0x1, 0x2, 0x8, 0x10, 0x20 and 0x40, and none above 0x40");
        }
        if flags & EXCLUSIVE_FLAGS != 0 && flags.count_ones() > 1 {
            return refuse("DEVICE_USE_ONLY, EXTERNAL and IPC must be used alone");
        }
        if flags & wrong != 0 {
            return refuse("IPC needs the Ex call; EXTERNAL and DEVICE_USE_ONLY need the other one");
        }
        Ok(())
    }

    /// Ends an event. Records and waits that are queued stay valid.
    pub fn destroy_event(&self, raw: usize) -> Result<()> {
        let (key, event) = self.event(raw)?;
        self.machine.emit_ending(Object::Event(key.index() as u32), false);
        let shared = lock(&event.state).shared.clone();
        // A wait for a record that has run passes without the event.
        let is_needed = |counters: &Arc<SharedCounters>| {
            counters.name().process == std::process::id() && !counters.has_reached(counters.latest_record())
        };
        if let Some(counters) = shared.filter(is_needed) {
            self.machine.check_shared_unused("event", || counters.users());
        }
        if !self.machine.events.retire(key) {
            return fail(Error::Handle { what: HandleKind::Event, handle: raw });
        }
        let (kind, device, pending_waits, graph_event) = {
            let mut state = lock(&event.state);
            state.record = None;
            state.shared = None;
            state.own_record = None;
            (state.kind, state.device, std::mem::take(&mut state.waiting_for_next), state.graph_event.take())
        };
        for stream in graph_event.map_or_else(Vec::new, |graph_event| graph_event.set()) {
            self.machine.mark_stream_ready(stream);
        }
        // Releases the streams that wait for a next record, which will never be made.
        self.machine.resolve_pending_waits(pending_waits, StreamPoint { stream: StreamKey::first(), sequence: 0 });
        self.machine.events.recycle(key);
        if kind.is_counted() {
            self.machine.devices[device as usize].events.fetch_sub(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Records an event at the end of a stream.
    pub fn record_event(&self, raw: usize, stream: usize) -> Result<()> {
        let (key, event) = self.event(raw)?;
        let Submission { key: stream_key, stream, context: context_key } =
            self.own_submission(self.explicit_stream(stream)?)?;
        let context = self.machine.contexts.slot(context_key);
        context.check()?;
        let shared = check_same_device(&lock(&event.state), stream)?;
        if stream.is_redirected() {
            return self.capture_record(key, event, stream);
        }
        if let Some(counters) = shared {
            let record = counters.next_record();
            let task = Control::RecordShared { counters: Arc::clone(&counters), record };
            let submitted = self.machine.submit(stream_key, stream, context_key, task);
            // A refused record counts as reached, because other processes may already wait for its number.
            let sequence = submitted.inspect_err(|_| counters.mark_reached(record))?;
            lock(&event.state).own_record = Some((record, StreamPoint { stream: stream_key, sequence }));
            return Ok(());
        }
        let (generation, before) = {
            let mut state = lock(&event.state);
            let before = (state.reached_ns.take(), state.captured.take());
            state.generation += 1;
            (state.generation, before)
        };
        // The event is not locked here: the task may run inline, and then stamps the event.
        let sequence = match self.machine.push_completed(stream_key, stream) {
            Some(sequence) => {
                self.machine.mark_reached(key, generation);
                sequence
            }
            None => {
                let task = Control::Record { event: key, generation };
                self.machine.submit(stream_key, stream, context_key, task).inspect_err(|_| {
                    // A refused record leaves the event unchanged.
                    let mut state = lock(&event.state);
                    if state.generation == generation {
                        (state.reached_ns, state.captured) = before;
                        state.generation -= 1;
                    }
                })?
            }
        };
        let point = StreamPoint { stream: stream_key, sequence };
        self.machine.bind(event, generation, point);
        Ok(())
    }

    /// Makes a stream wait for the newest record made so far.
    pub fn stream_wait_event(&self, stream: usize, raw: usize) -> Result<()> {
        let explicit = self.explicit_stream(stream)?;
        let (key, event) = self.event(raw)?;
        let Submission { key: stream_key, stream, context: context_key } = self.own_submission(explicit)?;
        let shared = check_same_device(&lock(&event.state), stream)?;
        if self.capture_wait(stream_key, stream, event)? {
            return Ok(());
        }
        let (kind, own) = {
            let state = lock(&event.state);
            (state.kind, state.own_record)
        };
        let after = match shared {
            Some(counters) => self.shared_dependency(counters, own),
            None => self.dependency(event, kind, stream_key)?,
        };
        let Some(after) = after else { return Ok(()) };
        event.waits.fetch_add(1, Ordering::Relaxed);
        let limit = self.machine.event_wait_limit().map(ExternalWait::limit);
        let next = if let Waited::Next(cell) = &after { Some(Arc::clone(cell)) } else { None };
        let submitted = self.machine.submit(
            stream_key,
            stream,
            context_key,
            Control::Wait(Box::new(Wait { after, event: Some(key), limit })),
        );
        submitted.map(|_| ()).inspect_err(|_| {
            event.waits.fetch_sub(1, Ordering::Relaxed);
            if let Some(cell) = next {
                lock(&event.state).waiting_for_next.retain(|(_, other)| !Arc::ptr_eq(other, &cell));
            }
        })
    }

    /// What a stream waits for at an event that processes share. `None` if the newest record is reached.
    fn shared_dependency(&self, counters: Arc<SharedCounters>, own: Option<(u64, StreamPoint)>) -> Option<Waited> {
        let record = counters.latest_record();
        let own = own.filter(|(number, _)| *number == record);
        // An observer receives the order of streams of this process even if there is nothing left to wait for.
        let is_observed = own.is_some() && self.machine.observer().is_some();
        if counters.has_reached(record) && !is_observed {
            self.machine.emit_foreign_record();
            return None;
        }
        Some(match own {
            Some((_, point)) => Waited::Point(point),
            None => {
                let _use_lock = self.machine.observer().and_then(|_| counters.hold_use());
                Waited::External(Arc::new(ExternalWait::new(WaitCondition::Record { counters, record, _use_lock })))
            }
        })
    }

    /// What a stream waits for at an event of this process. `None` if there is nothing to wait for.
    fn dependency(&self, event: &Event, kind: EventKind, stream: StreamKey) -> Result<Option<Waited>> {
        if !kind.can_order() {
            return fail(Error::Feature(
                "the event was created without the SYNC flag, so no stream can wait for it".to_owned(),
            ));
        }
        // The record is read and the wait registered under one lock: a record in between would not resolve the wait.
        let mut state = lock(&event.state);
        match (state.record, kind) {
            // There is nothing to wait for. An observer and a virtual clock still receive a wait, because they need the
            // order.
            (Some(point), _)
                if self.machine.observer().is_none()
                    && self.machine.clock().is_none()
                    && self.machine.streams.slot(point.stream).tasks.completion.done() >= point.sequence =>
            {
                Ok(None)
            }
            (None, EventKind::Plain) => fail(never_recorded()),
            _ => Ok(state.awaited(self.machine.next_point(stream))),
        }
    }

    /// Removes the record of a classic event, so that it can be waited for again.
    pub fn reset_event(&self, raw: usize, stream: usize) -> Result<()> {
        let (_, event) = self.event(raw)?;
        let (stream_key, stream) = self.stream(stream)?;
        let (context_key, _) = self.context()?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        let kind = lock(&event.state).kind;
        if kind.is_extended() || !kind.can_order() {
            return fail(Error::Feature("only classic events with the SYNC flag can be reset".to_owned()));
        }
        if stream.is_redirected() {
            return self.capture_reset(event, stream);
        }
        let graph_event = lock(&event.state).graph_event.clone();
        if let Some(graph_event) = graph_event {
            self.machine.submit(stream_key, stream, context_key, Control::ResetGraphEvent(graph_event))?;
        }
        let mut state = lock(&event.state);
        state.captured = None;
        state.record = None;
        state.generation += 1;
        state.reached_ns = None;
        Ok(())
    }

    /// Waits until the newest record is reached.
    pub fn synchronize_event(&self, raw: usize, timeout_ms: i32) -> Result<()> {
        let (_, event) = self.event(raw)?;
        self.check_host_visible(event)?;
        let (shared, own) = {
            let state = lock(&event.state);
            (state.shared.clone(), state.own_record)
        };
        if let Some(counters) = shared {
            let record = counters.latest_record();
            let reached = match own.filter(|(number, _)| *number == record) {
                Some((_, point)) => self.machine.wait(point, self.machine.deadline(timeout_ms)),
                None => self.machine.wait_for_foreign_record(&counters, record, deadline(timeout_ms)),
            };
            if reached {
                self.machine.emit_foreign_record();
            }
            return if reached { Ok(()) } else { fail(Error::EventTimeout(timeout_ms)) };
        }
        let Some(point) = lock(&event.state).record else { return Ok(()) };
        if !self.machine.wait(point, self.machine.deadline(timeout_ms)) {
            return fail(Error::EventTimeout(timeout_ms));
        }
        self.machine.trim_after_wait();
        Ok(())
    }

    /// Returns the status, and whether the event is of the extended kind.
    pub fn event_status(&self, raw: usize) -> Result<(EventStatus, bool)> {
        let (_, event) = self.event(raw)?;
        self.check_host_visible(event)?;
        let (record, extended, shared) = {
            let state = lock(&event.state);
            (state.record, state.kind.is_extended(), state.shared.clone())
        };
        if let Some(counters) = shared {
            let reached = counters.has_reached(counters.latest_record());
            if reached {
                self.machine.emit_foreign_record();
            }
            return Ok((if reached { EventStatus::Complete } else { EventStatus::Pending }, extended));
        }
        let status = match record {
            None => EventStatus::NeverRecorded,
            Some(point) if self.machine.reached(point) => EventStatus::Complete,
            Some(_) => EventStatus::Pending,
        };
        Ok((status, extended))
    }

    /// Returns `true` if all waits for the event have been passed.
    pub fn are_event_waits_finished(&self, raw: usize) -> Result<bool> {
        let (_, event) = self.event(raw)?;
        if lock(&event.state).kind.is_extended() {
            return fail(Error::Feature("the wait status of an Ex event cannot be queried".to_owned()));
        }
        self.check_not_captured(event)?;
        let record = lock(&event.state).record;
        if let Some(point) = record {
            self.machine.reached(point);
        }
        // `Acquire`, because the program may access what the event protects as soon as this returns.
        Ok(event.waits.load(Ordering::Acquire) == 0)
    }

    /// Milliseconds from one record to another. Negative if they were reached in the opposite order.
    pub fn elapsed_ms(&self, start: usize, end: usize) -> Result<f32> {
        let (_, start) = self.event(start)?;
        let (_, end) = self.event(end)?;
        check_not_shared(start, "has no time stamps")?;
        check_not_shared(end, "has no time stamps")?;
        let start = self.reached_ns(start, "start")?;
        let end = self.reached_ns(end, "end")?;
        Ok((end as f64 - start as f64) as f32 / 1e6)
    }

    /// Time at which the event was reached, in microseconds.
    pub fn event_time_us(&self, raw: usize) -> Result<u64> {
        let (_, event) = self.event(raw)?;
        check_not_shared(event, "has no time stamps")?;
        Ok(self.reached_ns(event, "queried")? / 1000)
    }

    /// Id of an event.
    pub fn event_id(&self, raw: usize) -> Result<u32> {
        let (key, event) = self.event(raw)?;
        check_not_shared(event, "has no id")?;
        Ok(key.index() as u32)
    }

    /// Time at which the newest record was reached.
    fn reached_ns(&self, event: &Event, which: &'static str) -> Result<u64> {
        let (point, time) = {
            let state = lock(&event.state);
            let point = state.record.ok_or(Error::NotRecorded(which))?;
            if !state.kind.has_time() {
                return fail(Error::NoTimestamp(which, "it was created without the TIME_LINE flag"));
            }
            (point, state.reached_ns)
        };
        let done = self.machine.streams.slot(point.stream).tasks.completion.done() >= point.sequence;
        let Some(time) = time.filter(|_| done) else {
            return fail(Error::NoTimestamp(which, "its record has not been reached"));
        };
        // A time stamp shows the program that the record was reached.
        self.machine.emit_waited(point, true);
        Ok(time)
    }

    /// Refuses events that the host cannot query.
    fn check_host_visible(&self, event: &Event) -> Result<()> {
        self.check_not_captured(event)?;
        if lock(&event.state).kind.is_host_visible() {
            return Ok(());
        }
        fail(Error::Feature("the host cannot query an EXTERNAL event".to_owned()))
    }

    fn check_not_captured(&self, event: &Event) -> Result<()> {
        if lock(&event.state).captured.is_some() { fail(Error::EventCaptured) } else { Ok(()) }
    }

    /// Resolves an event handle.
    pub(crate) fn event(&self, raw: usize) -> Result<(EventKey, &Event)> {
        let unknown = || Error::Handle { what: HandleKind::Event, handle: raw };
        let key = EventKey::from_raw(raw).ok_or_else(unknown)?;
        let event = self.machine.events.get(key).ok_or_else(unknown)?;
        Ok((key, event))
    }
}

/// Refuses an event of one device on a stream of another. An event that processes share works on all devices; returns
/// its counters.
fn check_same_device(event: &EventState, stream: &Stream) -> Result<Option<Arc<SharedCounters>>> {
    if event.shared.is_some() || event.device == stream.device() {
        return Ok(event.shared.clone());
    }
    fail(Error::OtherDevice { event: event.device, stream: stream.device() })
}

/// Refuses an event that processes share.
fn check_not_shared(event: &Event, why: &str) -> Result<()> {
    if lock(&event.state).shared.is_none() {
        return Ok(());
    }
    fail(Error::Feature(format!("an event that was created with ACL_EVENT_IPC {why}")))
}
