//! Capturing: streams whose work is recorded into a graph instead of being run.
//!
//! A refused call changes nothing, with one exception: a dependency that the graph would lack makes
//! the capture invalid, because the graph would run in a wrong order. Aborting does the same.

use super::Caller;
use crate::event::{Event, EventKind};
use crate::graph::{
    Capture, CaptureMode, CaptureStatus, CapturedRecord, Content, Entry, GraphState, GroupState, Node, Redirect, Step,
    Update,
};
use crate::keys::{ContextKey, EventKey, GraphKey, GroupKey, StreamKey};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::Task;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{lock, thread, thread_local};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// How strict captures are with this thread.
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

impl Caller<'_> {
    /// Records the work of a stream from now on.
    pub fn begin_capture(&self, raw: usize, mode: CaptureMode) -> Result<()> {
        let (key, stream, context) = self.capturable(raw)?;
        if stream.is_redirected() {
            return fail(Error::Capturing("captured once more"));
        }
        let graph = self.machine.graphs.insert(context).ok_or(Error::NoHandle("graph"))?;
        let thread = thread::current().id();
        lock(&self.machine.graphs.all.slot(graph).state).capture =
            Some(Capture { thread, streams: vec![key], is_invalid: false, group: None });
        self.machine.graphs.begin(graph, thread, mode);
        stream.redirect(Redirect::Capture { graph, branch: 0 });
        Ok(())
    }

    /// A stream of the current context that is not the default one.
    pub(super) fn capturable(&self, raw: usize) -> Result<(StreamKey, &Stream, ContextKey)> {
        let explicit = self.explicit_stream(raw)?;
        let (context_key, context) = self.context()?;
        let (key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        if lock(&context.state).default_stream == Some(key) {
            return fail(Error::CaptureDefault);
        }
        context.check()?;
        Ok((key, stream, context_key))
    }

    /// Ends a capture where it began, and makes the graph ready to run.
    pub fn end_capture(&self, raw: usize) -> Result<GraphKey> {
        let (key, stream) = self.stream(raw)?;
        let (graph_key, branch) = stream.capture().ok_or(Error::NotCapturing)?;
        if branch != 0 {
            return fail(Error::NotOrigin);
        }
        let graph = self.machine.graphs.all.slot(graph_key);
        let mut state = lock(&graph.state);
        let sub_graphs = state.sub_graphs.clone();
        if sub_graphs.into_iter().any(|sub| self.machine.is_capturing(sub)) {
            return fail(Error::SubGraphCapturing);
        }
        let Some(capture) = state.capture.take_if(|capture| capture.thread == thread::current().id()) else {
            return fail(if state.capture.is_some() { Error::CaptureThread } else { Error::NotCapturing });
        };
        debug_assert_eq!(capture.streams[0], key);
        let joined = state.is_joined();
        let body = state.body.clone();
        let nodes = state.nodes().cloned().collect();
        drop(state);
        self.machine.detach_streams(graph_key, &capture);
        let error = if capture.is_invalid {
            Error::CaptureInvalid
        } else if !joined {
            Error::Unjoined
        } else if capture.group.is_some() {
            Error::GroupState("the capture ended inside a task group".to_owned())
        } else {
            if let Some(body) = body {
                body.fill(nodes);
            }
            return Ok(graph_key);
        };
        if body.is_some() {
            // The conditional task of another graph knows it, and may have it captured again.
            lock(&graph.state).restart_capture();
        } else {
            self.machine.remove_captured(graph_key);
        }
        fail(error)
    }

    pub fn capture_status(&self, raw: usize) -> Result<CaptureStatus> {
        let (_, stream) = self.stream(raw)?;
        let Some((key, _)) = stream.capture() else { return Ok(CaptureStatus::None) };
        let state = lock(&self.machine.graphs.all.slot(key).state);
        Ok(match &state.capture {
            None => CaptureStatus::None,
            Some(capture) if capture.is_invalid => CaptureStatus::Invalidated(key),
            Some(_) => CaptureStatus::Active(key),
        })
    }

    /// Sets how strict captures are with this thread; returns how strict they were.
    pub fn exchange_capture_mode(&self, mode: CaptureMode) -> CaptureMode {
        MODE.with(|known| known.replace(mode))
    }

    /// Refuses a call that blocks while a capture forbids it.
    #[inline]
    pub(crate) fn check_may_block(&self) -> Result<()> {
        if self.machine.graphs.allow_blocking(|| MODE.with(Cell::get)) { Ok(()) } else { fail(Error::CaptureForbids) }
    }

    /// Refuses an asynchronous call that would have to wait for its stream while a capture forbids it.
    #[inline]
    pub(crate) fn check_may_drain(&self, stream: &Stream) -> Result<()> {
        if stream.is_redirected() {
            return fail(Error::Parameter(
                "the stream captures, and a copy of pageable host memory cannot be captured: use aclrtMallocHost"
                    .to_owned(),
            ));
        }
        self.machine.check_device_usable(stream.device())?;
        if self.machine.graphs.allow_blocking(|| MODE.with(Cell::get)) { Ok(()) } else { fail(Error::CaptureBlocks) }
    }

    /// Captures a record.
    pub(super) fn capture_record(&self, key: EventKey, event: &Event, stream: &Stream) -> Result<()> {
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

    /// Captures a wait, if the stream captures or is to join the capture of the event. `false`: it is
    /// an ordinary wait.
    pub(super) fn capture_wait(&self, key: StreamKey, stream: &Stream, event: &Event) -> Result<bool> {
        let (kind, captured, recorded, signal, shared) = {
            let state = lock(&event.state);
            let shared = state.shared.is_some();
            (state.kind, state.captured, state.record.is_some(), state.signal.clone(), shared)
        };
        if stream.is_redirected() {
            let Some((graph, _)) = stream.capture() else { return fail(Error::updating("event wait")) };
            if shared {
                return fail(Error::Feature("a capture cannot wait for an event of other processes".to_owned()));
            }
            if !kind.can_order() {
                return Ok(false);
            }
            if let Some(signal) = signal {
                return self.machine.capture_step(stream, Step::AwaitEvent(signal)).map(|_| true);
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

    /// A stream waits for an event of a capture and becomes part of it.
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

    /// Captures a record or a wait that reaches beyond the capture. `false`: the stream does not capture,
    /// so that there is nothing to reach beyond.
    pub(super) fn capture_external(&self, stream: usize, event: &Event, step: Step) -> Result<bool> {
        let (_, stream) = self.stream(stream)?;
        if stream.capture().is_none() {
            return Ok(false);
        }
        let (context_key, context) = self.context()?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        context.check()?;
        let (kind, signal, shared) = {
            let state = lock(&event.state);
            (state.kind, state.signal.clone(), state.shared.is_some())
        };
        // What those refuse or share anyway is told apart there.
        if shared || signal.is_some() || !kind.can_order() {
            return Ok(false);
        }
        self.machine.capture_step(stream, step).map(|_| true)
    }

    /// Captures a reset.
    pub(super) fn capture_reset(&self, event: &Event, stream: &Stream) -> Result<()> {
        let signal = lock(&event.state).signal.clone();
        match signal {
            Some(signal) => self.machine.capture_step(stream, Step::ResetEvent(signal)).map(|_| ()),
            None => {
                lock(&event.state).captured = None;
                Ok(())
            }
        }
    }

    /// Tasks of the stream form a group from now on.
    pub fn begin_group(&self, raw: usize) -> Result<()> {
        self.with_capture(raw, |state, branch| {
            let capture = state.capture.as_mut().ok_or(Error::NotCapturing)?;
            if capture.group.is_some() {
                return fail(Error::GroupState("a task group is already open in this capture".to_owned()));
            }
            capture.group = Some((branch, Vec::new()));
            Ok(())
        })
    }

    /// Ends the group that was begun on the stream.
    pub fn end_group(&self, raw: usize) -> Result<GroupKey> {
        let groups = &self.machine.graphs.groups;
        self.with_capture(raw, |state, branch| {
            let capture = state.capture.as_mut().ok_or(Error::NotCapturing)?;
            let Some((_, nodes)) = capture.group.take_if(|(other, _)| *other == branch) else {
                return fail(Error::GroupState("no task group was begun on this stream".to_owned()));
            };
            let graph = state.key;
            let open = |group: &crate::graph::Group, _| *lock(&group.state) = GroupState { graph, nodes };
            let key = groups.insert(open).ok_or(Error::NoHandle("task group"))?;
            state.groups.push(key);
            Ok(key)
        })
    }

    fn with_capture<T>(&self, raw: usize, use_it: impl FnOnce(&mut GraphState, usize) -> Result<T>) -> Result<T> {
        let (_, stream) = self.stream(raw)?;
        let (key, branch) = stream.capture().ok_or(Error::NotCapturing)?;
        let mut state = lock(&self.machine.graphs.all.slot(key).state);
        if state.capture.as_ref().is_some_and(|capture| capture.is_invalid) {
            return fail(Error::CaptureInvalid);
        }
        use_it(&mut state, branch)
    }

    /// Tasks of the stream become new contents of a group from now on.
    pub fn begin_update(&self, raw: usize, group: usize) -> Result<()> {
        let explicit = self.explicit_stream(raw)?;
        let (context_key, _) = self.context()?;
        let (_, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        if stream.context() != Some(context_key) {
            return fail(self.machine.other_context("stream", stream, context_key));
        }
        let unknown = || Error::Handle { what: "task group", handle: group };
        let key = GroupKey::from_raw(group).ok_or_else(unknown)?;
        let state = lock(&self.machine.graphs.groups.get(key).ok_or_else(unknown)?.state);
        let graph = state.graph.ok_or_else(unknown)?;
        drop(state);
        if self.machine.is_capturing(graph) {
            return fail(Error::GraphCapturing);
        }
        if stream.is_redirected() {
            return match stream.capture() {
                Some(_) => fail(Error::Capturing("used for an update")),
                None => fail(Error::GroupState("an update is already begun on this stream".to_owned())),
            };
        }
        stream.redirect(Redirect::Update { group: key, contents: Vec::new() });
        Ok(())
    }

    /// Puts the new contents in force, in stream order.
    pub fn end_update(&self, raw: usize) -> Result<()> {
        let (key, stream) = self.stream(raw)?;
        let (context_key, _) = self.context()?;
        let Some((group, contents)) = stream.take_update() else {
            return fail(Error::GroupState("no update was begun on this stream".to_owned()));
        };
        let nodes = match self.machine.graphs.groups.get(group) {
            Some(found) => lock(&found.state).nodes.clone(),
            None => return fail(Error::UpdateFailed("the graph of the task group was destroyed meanwhile".to_owned())),
        };
        if nodes.len() != contents.len() {
            return fail(Error::UpdateFailed(format!(
                "the task group has {} tasks, the update {}",
                nodes.len(),
                contents.len()
            )));
        }
        if let Some(at) = nodes.iter().zip(&contents).position(|(node, content)| node.name() != content.name()) {
            return fail(Error::UpdateFailed(format!(
                "task {at} of the group is a {}, that of the update a {}",
                nodes[at].name(),
                contents[at].name()
            )));
        }
        let update = Task::Update(Box::new(Update { nodes, contents }));
        self.machine.submit(key, stream, context_key, update).map(|_| ())
    }
}

impl Machine {
    /// Takes a task of a stream that captures or updates.
    #[cold]
    pub(crate) fn divert(&self, key: StreamKey, stream: &Stream, context: ContextKey, task: Task) -> Result<u64> {
        if let Task::Join(_) = task {
            return fail(Error::Capturing("used to run a graph"));
        }
        if stream.capture().is_some() {
            return self.capture_step(stream, Step::Work(Arc::new(Node::new(Content::new(task)?)))).map(|_| 0);
        }
        let mut content = Some(Content::new(task)?);
        let offered = stream.offer(|| Arc::new(content.take().expect("taken once")));
        match (offered, content) {
            (Some((group, content)), _) => {
                let graph = lock(&self.graphs.groups.slot(group).state).graph;
                if let Some(graph) = graph {
                    let offered = &mut lock(&self.graphs.all.slot(graph).state).offered;
                    if offered.len() == offered.capacity() {
                        offered.retain(|content| content.strong_count() > 0);
                    }
                    offered.push(Arc::downgrade(&content));
                }
                Ok(0)
            }
            // The capture or the update has ended meanwhile.
            (None, Some(content)) => self.submit(key, stream, context, content.into_task()),
            (None, None) => unreachable!("an offer that was not taken was not made"),
        }
    }

    /// Adds a step to the capture of a stream; where it is now.
    pub(super) fn capture_step(&self, stream: &Stream, step: Step) -> Result<CapturedRecord> {
        let Some((key, branch)) = stream.capture() else { return fail(Error::updating("event record")) };
        let mut state = lock(&self.graphs.all.slot(key).state);
        let entry = state.entries.len();
        if state.body.is_some() {
            match &step {
                Step::Work(node) => node.content().check_fits_sub_graph()?,
                Step::Record | Step::Wait(_) => {}
                Step::SetEvent(_) | Step::AwaitEvent(_) | Step::AwaitRecord(_) | Step::ResetEvent(_) => {
                    return fail(Error::Feature("an external event cannot be part of a sub-graph".to_owned()));
                }
            }
        }
        let Some(capture) = &mut state.capture else { return fail(Error::NotCapturing) };
        if capture.is_invalid {
            return fail(Error::CaptureInvalid);
        }
        let step = match (step, &mut capture.group) {
            (Step::Work(node), Some((group, nodes))) if *group == branch => {
                let node = node.in_group();
                nodes.push(Arc::clone(&node));
                Step::Work(node)
            }
            (step, _) => step,
        };
        state.entries.push(Entry { branch, step });
        Ok(state.captured(key, entry))
    }

    /// Whether a capture in progress has this record.
    fn has_captured(&self, record: CapturedRecord) -> bool {
        let graph = self.graphs.all.get(record.graph);
        graph.is_some_and(|graph| lock(&graph.state).is_capturing(record))
    }

    pub(crate) fn is_capturing(&self, key: GraphKey) -> bool {
        let graph = self.graphs.all.get(key);
        graph.is_some_and(|graph| lock(&graph.state).capture.is_some())
    }

    fn invalidate(&self, key: GraphKey) {
        if let Some(capture) = &mut lock(&self.graphs.all.slot(key).state).capture {
            capture.is_invalid = true;
        }
    }

    /// Makes the captures that streams of a device are in invalid.
    pub(crate) fn invalidate_captures_of(&self, device: u32) {
        for (_, stream) in self.streams.live().filter(|(_, stream)| stream.device() == device) {
            if let Some((graph, _)) = stream.capture() {
                self.invalidate(graph);
            }
        }
    }

    /// The streams of a capture work as usual again.
    fn detach_streams(&self, key: GraphKey, capture: &Capture) {
        for stream in &capture.streams {
            self.streams.slot(*stream).stop_redirect(key);
        }
        self.graphs.end(key);
    }

    /// A context ends: nobody will end its captures.
    pub(crate) fn abandon_captures(&self, context: ContextKey) {
        for (key, graph) in self.graphs.all.live() {
            let capture = {
                let mut state = lock(&graph.state);
                if state.context != Some(context) {
                    continue;
                }
                state.capture.take()
            };
            if let Some(capture) = capture {
                self.detach_streams(key, &capture);
                self.remove_captured(key);
            }
        }
    }

    /// Ends a graph whose capture came to nothing.
    fn remove_captured(&self, key: GraphKey) {
        let (conditions, sub_graphs) = {
            let mut state = lock(&self.graphs.all.slot(key).state);
            (std::mem::take(&mut state.conditions), std::mem::take(&mut state.sub_graphs))
        };
        self.end_sub_graphs(sub_graphs);
        self.free_conditions(conditions);
        self.graphs.remove(key);
    }
}
