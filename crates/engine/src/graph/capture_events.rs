//! Capturing events: records, waits and resets that become steps of a graph, and streams that join a capture by a wait.
//!
//! These functions decide if a call on an event is captured; the event calls queue it if it is not.

use crate::caller::Caller;
use crate::event::{Event, EventKind};
use crate::graph::{CapturedRecord, Entry, Redirect, Step};
use crate::keys::{EventKey, StreamKey};
use crate::stream::Stream;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;

impl Caller<'_> {
    /// Captures a record.
    pub(crate) fn capture_record(&self, key: EventKey, event: &Event, stream: &Stream) -> Result<()> {
        let (kind, shared) = {
            let state = lock(&event.state);
            (state.kind, state.shared.is_some())
        };
        if shared {
            return fail(Error::Feature("an event of other processes cannot be recorded in a capture".to_owned()));
        }
        let step = if kind.is_external() { Step::SetEvent(key) } else { Step::Record };
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
        let (kind, captured, recorded, graph_event, shared) = {
            let state = lock(&event.state);
            let shared = state.shared.is_some();
            (state.kind, state.captured, state.record.is_some(), state.graph_event.clone(), shared)
        };
        if stream.is_redirected() {
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
                    self.machine.capture_step(stream, Step::Wait(record.entry)).map(|_| true)
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
        let Some(record) = captured else { return Ok(false) };
        if !self.machine.has_captured(record) {
            return fail(Error::EventCaptured);
        }
        self.join_capture(key, stream, record)?;
        Ok(true)
    }

    /// Adds a stream to a capture, because it waits for an event of that capture.
    fn join_capture(&self, key: StreamKey, stream: &Stream, record: CapturedRecord) -> Result<()> {
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
        state.entries.push(Entry { branch, step: Step::Wait(record.entry) });
        drop(state);
        stream.redirect(Redirect::Capture { graph: record.graph, branch });
        Ok(())
    }

    /// Captures a record or a wait that concerns streams outside the capture. Returns `false` if the stream is not
    /// capturing, or if the event needs the plain call.
    pub(crate) fn capture_external(&self, stream: usize, event: &Event, step: Step) -> Result<bool> {
        let (_, stream) = self.stream(stream)?;
        if stream.capture().is_none() {
            return Ok(false);
        }
        let (context_key, context) = self.context()?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        context.check()?;
        let (kind, graph_event, shared) = {
            let state = lock(&event.state);
            (state.kind, state.graph_event.clone(), state.shared.is_some())
        };
        // The plain calls refuse these events, or share them with graphs.
        if shared || graph_event.is_some() || !kind.can_order() {
            return Ok(false);
        }
        self.machine.capture_step(stream, step).map(|_| true)
    }

    /// Captures a reset.
    pub(crate) fn capture_reset(&self, event: &Event, stream: &Stream) -> Result<()> {
        let graph_event = lock(&event.state).graph_event.clone();
        match graph_event {
            Some(graph_event) => self.machine.capture_step(stream, Step::ResetEvent(graph_event)).map(|_| ()),
            None => {
                lock(&event.state).captured = None;
                Ok(())
            }
        }
    }
}
