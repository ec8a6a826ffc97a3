//! Capturing: streams whose tasks are recorded into a graph instead of being executed.
//!
//! A refused call changes nothing, with one exception: a dependency that the graph would lack invalidates the capture,
//! because the graph would run in a wrong order. Aborting the device has the same effect.

use crate::caller::{Caller, Submission};
use crate::graph::{ActiveCapture, Capture, CaptureMode, CaptureStatus, CapturedRecord, Entry, Redirect, Step};
use crate::keys::{ContextKey, GraphKey, StreamKey};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::{Content, Control, Node, Task};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{lock, thread, thread_local};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// Capture mode of this thread.
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

impl Caller<'_> {
    /// Starts a capture: later tasks of the stream become steps of a new graph.
    pub fn begin_capture(&self, raw: usize, mode: CaptureMode) -> Result<()> {
        let (key, stream, context) = self.capturable(raw)?;
        if stream.is_redirected() {
            return fail(Error::Capturing("captured again"));
        }
        let graph = self.machine.graphs.insert(context).ok_or(Error::NoHandle("graph"))?;
        let thread = thread::current().id();
        lock(&self.machine.graphs.all.slot(graph).state).capture = Some(Capture::new(thread, mode, key));
        self.machine.begin_active(ActiveCapture { graph, thread, mode, context });
        stream.redirect(Redirect::Capture { graph, branch: 0 });
        Ok(())
    }

    /// Resolves a stream of the current context that is not its default stream.
    pub(crate) fn capturable(&self, raw: usize) -> Result<(StreamKey, &Stream, ContextKey)> {
        let Submission { key, stream, context: context_key } = self.own_submission(self.explicit_stream(raw)?)?;
        let context = self.machine.contexts.slot(context_key);
        if lock(&context.state).default_stream == Some(key) {
            return fail(Error::CaptureDefault);
        }
        context.check()?;
        Ok((key, stream, context_key))
    }

    /// Ends a capture on the stream where it began. The graph is then ready to run.
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
        let may_end =
            |capture: &mut Capture| capture.mode == CaptureMode::Relaxed || capture.thread == thread::current().id();
        let Some(capture) = state.capture.take_if(may_end) else {
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
            // A sub-graph remains: the conditional task of its parent refers to it, and it may be captured again.
            lock(&graph.state).restart_capture();
        } else {
            self.machine.remove_captured(graph_key);
        }
        fail(error)
    }

    /// The capture status of a stream.
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

    /// Sets the capture mode of this thread. Returns the previous one.
    pub fn exchange_capture_mode(&self, mode: CaptureMode) -> CaptureMode {
        MODE.with(|current| current.replace(mode))
    }

    /// Refuses a blocking call while a capture forbids it.
    #[inline]
    pub(crate) fn check_may_block(&self) -> Result<()> {
        if self.machine.graphs.allow_blocking(|| MODE.with(Cell::get)) { Ok(()) } else { fail(Error::CaptureForbids) }
    }

    /// Refuses an asynchronous call that must wait for its stream, while a capture forbids it.
    #[inline]
    pub(crate) fn check_may_drain(&self, stream: &Stream) -> Result<()> {
        if stream.is_recording() {
            return fail(Error::Parameter(
                "the stream is capturing, and a copy of pageable host memory cannot be captured: use aclrtMallocHost"
                    .to_owned(),
            ));
        }
        self.machine.check_device_usable(stream.device())?;
        if self.machine.graphs.allow_blocking(|| MODE.with(Cell::get)) { Ok(()) } else { fail(Error::CaptureBlocks) }
    }
}

impl Machine {
    /// The step for a call that is captured.
    fn captured_step(&self, task: Task) -> Result<Step> {
        let node = Node::new(Content::new(task)?);
        if let Some(observer) = self.observer() {
            observer.captured(node.number());
        }
        Ok(Step::Work(Arc::new(node)))
    }

    /// Takes a task of a stream that is capturing or updating.
    #[cold]
    pub(crate) fn redirect(&self, key: StreamKey, stream: &Stream, context: ContextKey, task: Task) -> Result<u64> {
        if !stream.is_recording() && stream.refuses_tasks() {
            return fail(Error::CaptureDefault);
        }
        if let Task::Control(Control::Join(_)) = task {
            return fail(Error::Capturing("used to run a graph"));
        }
        if let Some(bound) = stream.build() {
            return self.build_step(bound, self.captured_step(task)?).map(|()| 0);
        }
        if stream.capture().is_some() {
            return self.capture_step(stream, self.captured_step(task)?).map(|_| 0);
        }
        let mut content = Some(Content::new(task)?);
        let offered = stream.add_update_content(|| Arc::new(content.take().expect("taken once")));
        match (offered, content) {
            (Some((group, content)), _) => {
                let graph = lock(&self.graphs.groups.slot(group).state).graph;
                if let Some(graph) = graph {
                    let offered = &mut lock(&self.graphs.all.slot(graph).state).update_contents;
                    if offered.len() == offered.capacity() {
                        offered.retain(|content| content.strong_count() > 0);
                    }
                    offered.push(Arc::downgrade(&content));
                }
                Ok(0)
            }
            // The capture or the update ended concurrently, so the task is queued.
            (None, Some(content)) => self.submit(key, stream, context, content.into_task()),
            (None, None) => unreachable!("a content that was not added is still present"),
        }
    }

    /// Adds a step to the capture of a stream. Returns its position in the graph.
    pub(crate) fn capture_step(&self, stream: &Stream, step: Step) -> Result<CapturedRecord> {
        let Some((key, branch)) = stream.capture() else { return fail(Error::updating("event record")) };
        let mut state = lock(&self.graphs.all.slot(key).state);
        let entry = state.entries.len();
        if state.body.is_some() {
            match &step {
                Step::Work(node) => node.content().task()?.into_sub_step().map(drop)?,
                Step::Record(_) | Step::Wait { .. } => {}
                _ => {
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

    /// True if a capture in progress contains this record.
    pub(super) fn has_captured(&self, record: CapturedRecord) -> bool {
        let graph = self.graphs.all.get(record.graph);
        graph.is_some_and(|graph| lock(&graph.state).is_capturing(record))
    }

    /// True if `raw` is the handle of a stream that is capturing.
    pub fn is_stream_capturing(&self, raw: usize) -> bool {
        let stream = StreamKey::from_raw(raw).and_then(|key| self.streams.get(key));
        stream.is_some_and(|stream| stream.capture().is_some())
    }

    /// True if the graph is being captured.
    pub(crate) fn is_capturing(&self, key: GraphKey) -> bool {
        let graph = self.graphs.all.get(key);
        graph.is_some_and(|graph| lock(&graph.state).capture.is_some())
    }

    /// Invalidates the capture of a graph.
    pub(super) fn invalidate(&self, key: GraphKey) {
        if let Some(capture) = &mut lock(&self.graphs.all.slot(key).state).capture {
            capture.is_invalid = true;
        }
    }

    /// Invalidates the captures of all streams of a device.
    pub(crate) fn invalidate_captures_of(&self, device: u32) {
        for (_, stream) in self.streams.live().filter(|(_, stream)| stream.device() == device) {
            if let Some((graph, _)) = stream.capture() {
                self.invalidate(graph);
            }
        }
    }

    /// Returns the streams of a capture to normal.
    fn detach_streams(&self, key: GraphKey, capture: &Capture) {
        for stream in &capture.streams {
            self.streams.slot(*stream).stop_redirect(key);
        }
        self.end_active(key);
    }

    /// Registers a capture. The default stream of its context takes no tasks until the last capture there has ended.
    pub(super) fn begin_active(&self, capture: ActiveCapture) {
        let default_stream = self.default_stream_of(capture.context);
        self.graphs.begin(capture, || {
            if let Some(stream) = default_stream {
                stream.set_refusing(true);
            }
        });
    }

    /// Removes a capture.
    fn end_active(&self, key: GraphKey) {
        self.graphs.end(key, |context| {
            if let Some(stream) = self.default_stream_of(context) {
                stream.set_refusing(false);
            }
        });
    }

    fn default_stream_of(&self, context: ContextKey) -> Option<&Stream> {
        let key = lock(&self.contexts.slot(context).state).default_stream;
        key.map(|key| self.streams.slot(key))
    }

    /// Ends the captures of a context that ends.
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

    /// Ends a graph whose capture failed.
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
