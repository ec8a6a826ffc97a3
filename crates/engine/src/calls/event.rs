//! Events: recording, waiting, timing.

use super::Caller;
use crate::context::ContextKey;
use crate::error::{Error, HandleKind, Result, fail};
use crate::event::{
    EVENT_CAPTURE_STREAM_PROGRESS, EVENT_DEVICE_USE_ONLY, EVENT_EXTERNAL, EVENT_IPC, EVENT_SYNC, EVENT_TIME_LINE,
    Event, EventKey, EventKind,
};
use crate::executor::external_waits::{ExternalWait, WaitCondition};
use crate::graph::Step;
use crate::host::deadline;
use crate::machine::Machine;
use crate::memory::shared::{SharedCounters, SharedName};
use crate::observer::{Object, Origin};
use crate::stream::{StreamKey, StreamPoint};
use crate::sync::{Ordering, lock};
use crate::task::{Task, Waited};
use std::sync::{Arc, OnceLock};

/// What can be said of an event's newest record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    NeverRecorded,
    Pending,
    Complete,
}

const ALL: u32 =
    EVENT_SYNC | EVENT_CAPTURE_STREAM_PROGRESS | EVENT_TIME_LINE | EVENT_DEVICE_USE_ONLY | EVENT_EXTERNAL | EVENT_IPC;
const ALONE: u32 = EVENT_DEVICE_USE_ONLY | EVENT_EXTERNAL | EVENT_IPC;

impl Caller<'_> {
    pub fn create_event(&self, kind: EventKind) -> Result<EventKey> {
        self.check_event_flags(kind)?;
        let (_, context) = self.context_or_default()?;
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

    fn insert_event(
        &self,
        kind: EventKind,
        number: u32,
        shared: Option<Arc<SharedCounters>>,
        origin: Origin,
    ) -> Result<EventKey> {
        let open = |event: &Event, key| {
            let mut state = lock(&event.state);
            // The generation goes on, so that a record of the slot's last event cannot stamp this one.
            let generation = state.generation + 1;
            *state = crate::event::EventState {
                key: Some(key),
                kind,
                device: number,
                generation,
                shared,
                signal: kind.is_external().then(Arc::default),
                ..Default::default()
            };
            event.waits.store(0, Ordering::Relaxed);
        };
        let none = || Error::Feature("no event handle left".to_owned());
        let key = self.machine.events.insert(open).ok_or_else(none)?;
        if let Some(probe) = self.machine.probe() {
            probe.created(Object::Event(key.index() as u32), origin);
        }
        Ok(key)
    }

    fn check_event_flags(&self, kind: EventKind) -> Result<()> {
        let (flags, wrong) = match kind {
            EventKind::Plain => return Ok(()),
            EventKind::Flagged(flags) => (flags, EVENT_IPC),
            EventKind::Extended(flags) => (flags, EVENT_EXTERNAL | EVENT_DEVICE_USE_ONLY),
        };
        let refuse = |why: &str| fail(Error::Parameter(format!("event flags {flags:#x}: {why}")));
        if flags & ALL == 0 || flags & !ALL != 0 {
            return refuse("they must be made of the known bits 0x1, 0x2, 0x8, 0x10, 0x20 and 0x40, and not empty");
        }
        if flags & ALONE != 0 && flags.count_ones() > 1 {
            return refuse("DEVICE_USE_ONLY, EXTERNAL and IPC must be used alone");
        }
        if flags & wrong != 0 {
            return refuse("IPC needs the Ex call; EXTERNAL and DEVICE_USE_ONLY need the other one");
        }
        Ok(())
    }

    /// Ends an event. Records and waits that are queued stay what they are.
    pub fn destroy_event(&self, raw: usize) -> Result<()> {
        let (key, event) = self.event(raw)?;
        self.machine.emit_ending(Object::Event(key.index() as u32), false);
        if !self.machine.events.retire(key) {
            return fail(Error::Handle { what: HandleKind::Event, handle: raw });
        }
        let (kind, device, expecting, signal) = {
            let mut state = lock(&event.state);
            state.record = None;
            state.shared = None;
            state.own_record = None;
            (state.kind, state.device, std::mem::take(&mut state.waiting_for_next), state.signal.take())
        };
        for stream in signal.map_or_else(Vec::new, |signal| signal.set()) {
            self.machine.mark_stream_ready(stream);
        }
        // Streams that wait for a record that will never come go on.
        self.machine.resolve_pending_waits(expecting, StreamPoint { stream: StreamKey::first(), sequence: 0 });
        self.machine.events.recycle(key);
        if kind.is_counted() {
            self.machine.devices[device as usize].events.fetch_sub(1, Ordering::AcqRel);
        }
        Ok(())
    }

    pub fn record_event(&self, raw: usize, stream: usize) -> Result<()> {
        let (key, event) = self.event(raw)?;
        let explicit = self.explicit_stream(stream)?;
        let (context_key, context) = self.context()?;
        let (stream_key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        context.check()?;
        if stream.is_redirected() {
            return self.capture_record(key, event, stream);
        }
        let shared = lock(&event.state).shared.clone();
        if let Some(counters) = shared {
            let record = counters.next_record();
            let task = Task::RecordShared { counters: Arc::clone(&counters), record };
            let submitted = self.machine.submit(stream_key, stream, context_key, task);
            // Other processes may know of it already.
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
        // The event's lock is not held here: the task may run at once, and stamps the event.
        let sequence = match self.machine.push_completed(stream_key, stream) {
            Some(sequence) => {
                self.machine.mark_reached(key, generation);
                sequence
            }
            None => {
                let task = Task::Record { event: key, generation };
                self.machine.submit(stream_key, stream, context_key, task).inspect_err(|_| {
                    // What was refused has not happened.
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

    /// The same; in a capture it happens with every run, for streams outside the graph.
    pub fn record_external_event(&self, raw: usize, stream: usize) -> Result<()> {
        let (key, event) = self.event(raw)?;
        if self.capture_external(stream, event, Step::SetEvent(key))? {
            return Ok(());
        }
        self.record_event(raw, stream)
    }

    /// Makes a stream wait for the newest record made so far.
    pub fn stream_wait_event(&self, stream: usize, raw: usize) -> Result<()> {
        let explicit = self.explicit_stream(stream)?;
        let (key, event) = self.event(raw)?;
        let (context_key, _) = self.context()?;
        let (stream_key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        if self.capture_wait(stream_key, stream, event)? {
            return Ok(());
        }
        let (kind, shared, own) = {
            let state = lock(&event.state);
            (state.kind, state.shared.clone(), state.own_record)
        };
        if let Some(counters) = shared {
            let record = counters.latest_record();
            let own = own.filter(|(number, _)| *number == record);
            // An observer sees the order of streams of this process, also where there is nothing to wait for.
            let is_seen = own.is_some() && self.machine.probe().is_some();
            if counters.has_reached(record) && !is_seen {
                return Ok(());
            }
            let after = match own {
                Some((_, point)) => Waited::Point(point),
                None => Waited::Outside(Arc::new(ExternalWait::new(WaitCondition::Record(counters, record)))),
            };
            event.waits.fetch_add(1, Ordering::Relaxed);
            let task = Task::Wait { after, event: Some(key) };
            self.machine.submit(stream_key, stream, context_key, task).inspect_err(|_| {
                event.waits.fetch_sub(1, Ordering::Relaxed);
            })?;
            return Ok(());
        }
        if !kind.can_order() {
            return fail(Error::Feature(
                "the event was created without the SYNC flag, so no stream can wait for it".to_owned(),
            ));
        }
        // Looked at and entered in one breath: a record between the two would tell nobody.
        let mut state = lock(&event.state);
        let after = match (state.record, kind) {
            // There is nothing to wait for. An observer sees a wait all the same: it is the order that counts.
            (Some(point), _)
                if self.machine.probe().is_none()
                    && self.machine.streams.slot(point.stream).track.completion.done() >= point.sequence =>
            {
                return Ok(());
            }
            (Some(point), _) => Waited::Point(point),
            (None, EventKind::Extended(_)) => return Ok(()),
            (None, EventKind::Plain) => {
                return fail(Error::Parameter(
                    "the event was never recorded: record it before a stream waits for it".to_owned(),
                ));
            }
            (None, EventKind::Flagged(_)) => {
                let cell = Arc::new(OnceLock::new());
                state.waiting_for_next.push((self.machine.next_point(stream_key), Arc::clone(&cell)));
                Waited::Next(cell)
            }
        };
        drop(state);
        event.waits.fetch_add(1, Ordering::Relaxed);
        let expected = if let Waited::Next(cell) = &after { Some(Arc::clone(cell)) } else { None };
        let submitted = self.machine.submit(stream_key, stream, context_key, Task::Wait { after, event: Some(key) });
        submitted.map(|_| ()).inspect_err(|_| {
            event.waits.fetch_sub(1, Ordering::Relaxed);
            if let Some(cell) = expected {
                lock(&event.state).waiting_for_next.retain(|(_, other)| !Arc::ptr_eq(other, &cell));
            }
        })
    }

    /// The same; in a capture it is the newest record outside when the graph is launched.
    pub fn stream_wait_external_event(&self, stream: usize, raw: usize) -> Result<()> {
        let (key, event) = self.event(raw)?;
        if self.capture_external(stream, event, Step::AwaitRecord(key))? {
            return Ok(());
        }
        self.stream_wait_event(stream, raw)
    }

    /// Forgets the record of a classic event, so that it can be waited for anew.
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
        let signal = lock(&event.state).signal.clone();
        if let Some(signal) = signal {
            self.machine.submit(stream_key, stream, context_key, Task::ResetGraphEvent(signal))?;
        }
        let mut state = lock(&event.state);
        state.captured = None;
        state.record = None;
        state.generation += 1;
        state.reached_ns = None;
        Ok(())
    }

    pub fn synchronize_event(&self, raw: usize, timeout_ms: i32) -> Result<()> {
        let (_, event) = self.event(raw)?;
        self.check_host_visible(event)?;
        let (shared, own) = {
            let state = lock(&event.state);
            (state.shared.clone(), state.own_record)
        };
        if let Some(counters) = shared {
            let record = counters.latest_record();
            let deadline = deadline(timeout_ms);
            let reached = match own.filter(|(number, _)| *number == record) {
                Some((_, point)) => self.machine.wait(point, deadline),
                None => self.machine.wait_for_foreign_record(&counters, record, deadline),
            };
            return if reached { Ok(()) } else { fail(Error::EventTimeout(timeout_ms)) };
        }
        let Some(point) = lock(&event.state).record else { return Ok(()) };
        if !self.machine.wait(point, deadline(timeout_ms)) {
            return fail(Error::EventTimeout(timeout_ms));
        }
        self.machine.trim_after_wait();
        Ok(())
    }

    /// The status, and whether the event is of the extended kind.
    pub fn event_status(&self, raw: usize) -> Result<(EventStatus, bool)> {
        let (_, event) = self.event(raw)?;
        self.check_host_visible(event)?;
        let (record, extended, shared) = {
            let state = lock(&event.state);
            (state.record, state.kind.is_extended(), state.shared.clone())
        };
        if let Some(counters) = shared {
            let reached = counters.has_reached(counters.latest_record());
            return Ok((if reached { EventStatus::Complete } else { EventStatus::Pending }, extended));
        }
        let status = match record {
            None => EventStatus::NeverRecorded,
            Some(point) if self.machine.reached(point) => EventStatus::Complete,
            Some(_) => EventStatus::Pending,
        };
        Ok((status, extended))
    }

    /// Whether all waits for the event have been passed.
    pub fn are_event_waits_over(&self, raw: usize) -> Result<bool> {
        let (_, event) = self.event(raw)?;
        if lock(&event.state).kind.is_extended() {
            return fail(Error::Feature("the wait status of an Ex event cannot be queried".to_owned()));
        }
        self.check_not_captured(event)?;
        let record = lock(&event.state).record;
        if let Some(point) = record {
            self.machine.reached(point);
        }
        // Whoever learns of it may read what the event stands for.
        Ok(event.waits.load(Ordering::Acquire) == 0)
    }

    /// A name by which another process can open an event of the IPC kind.
    pub fn export_event(&self, raw: usize) -> Result<[u8; 16]> {
        let (_, event) = self.event(raw)?;
        let Some(counters) = lock(&event.state).shared.clone() else {
            return fail(Error::Parameter(
                "only an event that was created with the IPC flag can be exported".to_owned(),
            ));
        };
        let SharedName { process, descriptor, nonce } = counters.name();
        let mut name = [0; 16];
        name[..4].copy_from_slice(&process.to_le_bytes());
        name[4..8].copy_from_slice(&descriptor.to_le_bytes());
        name[8..].copy_from_slice(&nonce.to_le_bytes());
        Ok(name)
    }

    /// Opens an event that another process exported.
    pub fn import_event(&self, name: [u8; 16]) -> Result<EventKey> {
        let (_, context) = self.context_or_default()?;
        let word = |at: usize| u32::from_le_bytes(name[at..at + 4].try_into().expect("four bytes"));
        let nonce = u64::from_le_bytes(name[8..].try_into().expect("eight bytes"));
        let name = SharedName { process: word(0), descriptor: word(4), nonce };
        let gone = |error| Error::Parameter(format!("no process has such an event (any more): {error}"));
        let counters = SharedCounters::open(name).map_err(gone)?;
        self.insert_event(EventKind::Extended(EVENT_IPC), context.device(), Some(Arc::new(counters)), Origin::Imported)
    }

    /// Milliseconds from one record to another; negative when they were reached the other way round.
    pub fn elapsed_ms(&self, start: usize, end: usize) -> Result<f32> {
        let (_, start) = self.event(start)?;
        let (_, end) = self.event(end)?;
        let start = self.reached_ns(start, "start")?;
        let end = self.reached_ns(end, "end")?;
        Ok((end as f64 - start as f64) as f32 / 1e6)
    }

    /// Microseconds at which the event was reached.
    pub fn event_time_us(&self, raw: usize) -> Result<u64> {
        let (_, event) = self.event(raw)?;
        Ok(self.reached_ns(event, "asked for")? / 1000)
    }

    pub fn event_number(&self, raw: usize) -> Result<u32> {
        Ok(self.event(raw)?.0.index() as u32)
    }

    fn reached_ns(&self, event: &Event, which: &'static str) -> Result<u64> {
        let (point, time) = {
            let state = lock(&event.state);
            let point = state.record.ok_or(Error::NotRecorded(which))?;
            if !state.kind.has_time() {
                return fail(Error::NoTimestamp(which, "it was created without the TIME_LINE flag"));
            }
            (point, state.reached_ns)
        };
        let done = self.machine.streams.slot(point.stream).track.completion.done() >= point.sequence;
        let Some(time) = time.filter(|_| done) else {
            return fail(Error::NoTimestamp(which, "its record has not been reached"));
        };
        // Whoever has the time knows that the event was reached.
        self.machine.emit_waited(point, true);
        Ok(time)
    }

    fn check_host_visible(&self, event: &Event) -> Result<()> {
        self.check_not_captured(event)?;
        if lock(&event.state).kind.is_host_visible() {
            return Ok(());
        }
        fail(Error::Feature("the host cannot ask about an EXTERNAL event".to_owned()))
    }

    fn check_not_captured(&self, event: &Event) -> Result<()> {
        if lock(&event.state).captured.is_some() { fail(Error::EventCaptured) } else { Ok(()) }
    }

    fn event(&self, raw: usize) -> Result<(EventKey, &Event)> {
        let unknown = || Error::Handle { what: HandleKind::Event, handle: raw };
        let key = EventKey::from_raw(raw).ok_or_else(unknown)?;
        let event = self.machine.events.get(key).ok_or_else(unknown)?;
        Ok((key, event))
    }
}

impl Machine {
    /// A record was reached.
    pub(crate) fn mark_reached(&self, key: EventKey, generation: u64) {
        let mut state = lock(&self.events.slot(key).state);
        if state.key == Some(key) && state.generation == generation {
            state.reached_ns = Some(self.now_ns());
        }
        let signal = state.signal.clone().filter(|_| state.key == Some(key));
        drop(state);
        for stream in signal.map_or_else(Vec::new, |signal| signal.set()) {
            self.mark_stream_ready(stream);
        }
    }

    /// Notes where the newest record of an event is.
    fn bind(&self, event: &Event, generation: u64, point: StreamPoint) {
        let expecting = {
            let mut state = lock(&event.state);
            if state.generation == generation {
                state.record = Some(point);
            }
            std::mem::take(&mut state.waiting_for_next)
        };
        self.resolve_pending_waits(expecting, point);
    }

    /// The newest record of an event outside captures.
    pub(crate) fn newest_record(&self, key: EventKey) -> Option<StreamPoint> {
        lock(&self.events.get(key)?.state).record
    }

    /// Records an event on a stream of a graph; `None` when the event is gone.
    pub(crate) fn record_from_graph(
        &self,
        key: EventKey,
        stream: StreamKey,
        context: ContextKey,
    ) -> Result<Option<StreamPoint>> {
        let Some(event) = self.events.get(key) else { return Ok(None) };
        let generation = {
            let mut state = lock(&event.state);
            state.generation += 1;
            state.reached_ns = None;
            state.captured = None;
            state.generation
        };
        let task = Task::Record { event: key, generation };
        let sequence = self.submit(stream, self.streams.slot(stream), context, task)?;
        let point = StreamPoint { stream, sequence };
        self.bind(event, generation, point);
        Ok(Some(point))
    }

    /// Binds waits for "the next record" to the one that was made.
    fn resolve_pending_waits(&self, expecting: Vec<(StreamPoint, Arc<OnceLock<StreamPoint>>)>, point: StreamPoint) {
        for (wait, cell) in expecting {
            // A wait is bound once; a record that comes at the same moment changes nothing.
            let _ = cell.set(point);
            if let Some(probe) = self.probe() {
                probe.ordered(wait.into(), point.into());
            }
            self.mark_stream_ready(wait.stream);
        }
    }

    /// A wait has been passed or dropped.
    pub(crate) fn wait_is_over(&self, stream: StreamKey, after: &Waited, event: Option<EventKey>) {
        if let Waited::Signal(signal) = after {
            signal.forget(stream);
        }
        if let Some(event) = event.and_then(|key| self.events.get(key)) {
            event.waits.fetch_sub(1, Ordering::Release);
        }
    }
}
