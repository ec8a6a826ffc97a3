//! Capturing events: records, waits and resets that become steps of a graph, and streams that join a capture by a wait.
//!
//! These functions decide if a call on an event is captured; the event calls queue it if it is not.

use crate::caller::{Caller, Submission};
use crate::event::{EVENT_SYNC, Event, EventKind, never_recorded};
use crate::graph::{CapturedRecord, Entry, Redirect, Step};
use crate::keys::{EventKey, StreamKey};
use crate::stream::Stream;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;

impl Caller<'_> {
    /// Captures a record.
    pub(crate) fn capture_record(&self, key: EventKey, event: &Event, stream: &Stream) -> Result<()> {
        check_accepts_tasks(stream)?;
        let (kind, shared) = {
            let state = lock(&event.state);
            (state.kind, state.shared.is_some())
        };
        if shared {
            return fail(Error::Feature("an event of other processes cannot be recorded in a capture".to_owned()));
        }
        if let Some(bound) = stream.build() {
            let step = if kind.is_external() { Step::SetEvent(key) } else { Step::SetLocal(key) };
            return self.machine.build_step(bound, step);
        }
        let step = if kind.is_external() { Step::SetEvent(key) } else { Step::Record(key) };
        let captured = self.machine.capture_step(stream, step)?;
        if !kind.is_external() {
            let mut state = lock(&event.state);
            state.captured = Some(captured);
            state.record = None;
            state.reached_ns = None;
            state.generation += 1;
        }
        Ok(())
    }

    /// Captures a wait, if the stream is capturing or joins the capture of the event. Returns `false` if the wait must
    /// be queued.
    pub(crate) fn capture_wait(&self, key: StreamKey, stream: &Stream, event: &Event) -> Result<bool> {
        let (event, kind, captured, recorded, graph_event, shared) = {
            let state = lock(&event.state);
            let shared = state.shared.is_some();
            (state.key, state.kind, state.captured, state.record.is_some(), state.graph_event.clone(), shared)
        };
        if let (Some(bound), Some(event), false, true) = (stream.build(), event, shared, kind.can_order()) {
            if kind == EventKind::Plain && !recorded && !self.machine.has_built_record(bound.0, event) {
                return fail(never_recorded());
            }
            let step = graph_event.map_or(Step::AwaitLocal(event), Step::AwaitEvent);
            return self.machine.build_step(bound, step).map(|()| true);
        }
        if stream.is_recording() {
            let Some((graph, _)) = stream.capture() else { return fail(Error::updating("event wait")) };
            if shared {
                return fail(Error::Feature("a capture cannot wait for an event of other processes".to_owned()));
            }
            if !kind.can_order() {
                return Ok(false);
            }
            if let Some(graph_event) = graph_event {
                return self.machine.capture_step(stream, Step::AwaitEvent(graph_event)).map(|_| true);
            }
            return match captured {
                Some(record) if record.graph == graph && self.machine.has_captured(record) => {
                    let step = Step::Wait { record: record.entry, event };
                    self.machine.capture_step(stream, step).map(|_| true)
                }
                Some(record) if self.machine.has_captured(record) => {
                    self.machine.invalidate(graph);
                    self.machine.invalidate(record.graph);
                    fail(Error::CaptureConflict)
                }
                None if !recorded && kind.is_extended() => Ok(true),
                None if !recorded && kind == EventKind::Plain => Ok(false),
                _ => {
                    self.machine.invalidate(graph);
                    fail(Error::CaptureDependency)
                }
            };
        }
        let Some(record) = captured else { return check_accepts_tasks(stream).map(|()| false) };
        if !self.machine.has_captured(record) {
            check_accepts_tasks(stream)?;
            return fail(Error::EventCaptured);
        }
        self.join_capture(key, stream, record, event)?;
        Ok(true)
    }

    /// Adds a stream to a capture, because it waits for an event of that capture.
    fn join_capture(
        &self,
        key: StreamKey,
        stream: &Stream,
        record: CapturedRecord,
        event: Option<EventKey>,
    ) -> Result<()> {
        let (context_key, context) = self.context()?;
        let is_default = lock(&context.state).default_stream == Some(key);
        let mut state = lock(&self.machine.graphs.all.slot(record.graph).state);
        if state.context != Some(context_key) {
            return fail(self.machine.other_context("captured event", stream, context_key));
        }
        if !state.is_capturing(record) {
            return fail(Error::EventCaptured);
        }
        let branch = state.branches;
        let Some(capture) = &mut state.capture else { return fail(Error::EventCaptured) };
        if is_default {
            capture.is_invalid = true;
            return fail(Error::CaptureDefault);
        }
        if capture.is_invalid {
            return fail(Error::CaptureInvalid);
        }
        capture.streams.push(key);
        state.branches += 1;
        state.entries.push(Entry { branch, step: Step::Wait { record: record.entry, event } });
        drop(state);
        stream.redirect(Redirect::Capture { graph: record.graph, branch });
        Ok(())
    }

    /// Captures a record that every run of the graph makes for streams outside it.
    pub fn record_external_event(&self, raw: usize, stream: usize) -> Result<()> {
        self.capture_external(stream, raw, Step::SetEvent)
    }

    /// Captures a wait: every run waits for the record that the event has outside the graph when the run is launched.
    pub fn stream_wait_external_event(&self, stream: usize, raw: usize) -> Result<()> {
        self.capture_external(stream, raw, Step::AwaitRecord)
    }

    /// Captures a record or a wait that concerns streams outside the capture: of an Ex event with the SYNC flag alone,
    /// once per graph.
    fn capture_external(&self, stream: usize, raw: usize, step: fn(EventKey) -> Step) -> Result<()> {
        let (key, event) = self.event(raw)?;
        let Submission { stream, context, .. } = self.own_submission(self.explicit_stream(stream)?)?;
        self.machine.contexts.slot(context).check()?;
        if lock(&event.state).kind != EventKind::Extended(EVENT_SYNC) {
            return fail(Error::Parameter(
                "only an event of aclrtCreateEventExWithFlag with ACL_EVENT_SYNC alone can be recorded or waited for with the flag EXTERNAL"
                    .to_owned(),
            ));
        }
        let (graph, _) = stream.capture().ok_or(Error::NotCapturing)?;
        let is_used =
            |entry: &Entry| matches!(entry.step, Step::SetEvent(other) | Step::AwaitRecord(other) if other == key);
        if lock(&self.machine.graphs.all.slot(graph).state).entries.iter().any(is_used) {
            return fail(Error::Parameter(
                "the graph already has a record of this event, or a wait for it, with the flag EXTERNAL: use another event"
                    .to_owned(),
            ));
        }
        self.machine.capture_step(stream, step(key)).map(|_| ())
    }

    /// Captures a reset.
    pub(crate) fn capture_reset(&self, event: &Event, stream: &Stream) -> Result<()> {
        check_accepts_tasks(stream)?;
        let (key, graph_event) = {
            let state = lock(&event.state);
            (state.key, state.graph_event.clone())
        };
        if let (Some(bound), Some(key)) = (stream.build(), key) {
            let step = graph_event.map_or(Step::ResetLocal(key), Step::ResetEvent);
            return self.machine.build_step(bound, step);
        }
        match graph_event {
            Some(graph_event) => self.machine.capture_step(stream, Step::ResetEvent(graph_event)).map(|_| ()),
            None => {
                lock(&event.state).captured = None;
                Ok(())
            }
        }
    }
}

/// Refuses the default stream of a context in which another stream is capturing.
fn check_accepts_tasks(stream: &Stream) -> Result<()> {
    if stream.refuses_tasks() && !stream.is_recording() { fail(Error::CaptureDefault) } else { Ok(()) }
}
