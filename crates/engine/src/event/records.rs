//! Records: where an event was recorded, when that point was reached, and which waits it resolves.

use crate::event::Event;
use crate::executor::clock::VirtualClock;
use crate::keys::{ContextKey, EventKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::task::{Control, Wait, Waited};
use softacl_errors::Result;
use softacl_sync::facade::{Ordering, lock};
use std::sync::{Arc, OnceLock};

impl Machine {
    /// Stamps an event whose record was reached, and sets its graph event.
    pub(crate) fn mark_reached(&self, key: EventKey, generation: u64) {
        let mut state = lock(&self.events.slot(key).state);
        if state.key == Some(key) && state.generation == generation {
            state.reached_ns = Some(self.visible_clock().map_or_else(|| self.real_ns(), VirtualClock::now));
        }
        let graph_event = state.graph_event.clone().filter(|_| state.key == Some(key));
        drop(state);
        for stream in graph_event.map_or_else(Vec::new, |graph_event| graph_event.set()) {
            self.mark_stream_ready(stream);
        }
    }

    /// Stores the newest record of an event, and resolves the waits for it.
    pub(super) fn bind(&self, event: &Event, generation: u64, point: StreamPoint) {
        let pending_waits = {
            let mut state = lock(&event.state);
            if state.generation == generation {
                state.record = Some(point);
            }
            std::mem::take(&mut state.waiting_for_next)
        };
        self.resolve_pending_waits(pending_waits, point);
    }

    /// What the next task of a stream of a graph waits for at an event that is recorded outside the graph. `None` if
    /// there is nothing to wait for, or the event has ended.
    pub(crate) fn awaited_outside(&self, key: EventKey, stream: StreamKey) -> Option<Waited> {
        let wait = self.next_point(stream);
        lock(&self.events.get(key)?.state).awaited(wait)
    }

    /// Records an event on a stream of a graph. `None` if the event has ended.
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
        let task = Control::Record { event: key, generation };
        let sequence = self.submit(stream, self.streams.slot(stream), context, task)?;
        let point = StreamPoint { stream, sequence };
        self.bind(event, generation, point);
        Ok(Some(point))
    }

    /// Binds waits for "the next record" to the record that was made.
    pub(super) fn resolve_pending_waits(
        &self,
        pending_waits: Vec<(StreamPoint, Arc<OnceLock<StreamPoint>>)>,
        point: StreamPoint,
    ) {
        for (wait, cell) in pending_waits {
            // A wait is bound once. A concurrent record changes nothing.
            let _ = cell.set(point);
            if let Some(observer) = self.observer() {
                observer.ordered(wait.into(), point.into());
            }
            self.mark_stream_ready(wait.stream);
        }
    }

    /// Releases what a wait holds of its event, after it was passed or dropped.
    pub(crate) fn finish_wait(&self, stream: StreamKey, wait: &Wait) {
        if let Waited::GraphEvent(graph_event) = &wait.after {
            graph_event.forget(stream);
        }
        if let Some(event) = wait.event.and_then(|key| self.events.get(key)) {
            event.waits.fetch_sub(1, Ordering::Release);
        }
    }
}
