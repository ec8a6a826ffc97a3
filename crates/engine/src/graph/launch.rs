//! Runs: a graph's entries go to streams of its own, one per branch, and the stream that launched it
//! waits for the end.
//!
//! For the launching stream a run is one task: the wait is queued first, the branches start after
//! what was queued before it, and nothing that others queue meanwhile can come between. Runs of one
//! graph follow each other, because its own streams are FIFO and all branches are joined.

use super::{Graph, GraphKey, GraphState, Graphs, Step, memory_gone};
use crate::context::ContextKey;
use crate::error::{Error, HandleKind, Result, fail};
use crate::executor::DeferGuard;
use crate::machine::Machine;
use crate::observer::StreamPosition;
use crate::stream::{Stream, StreamKey, StreamOptions, StreamPoint};
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::{Task, Waited};
use std::mem::take;
use std::sync::{Arc, OnceLock};

/// One run of a graph.
#[derive(Debug)]
pub(crate) struct GraphRun {
    /// The end of branch 0, known when everything is queued.
    pub(crate) end: OnceLock<StreamPoint>,
    lanes: Vec<StreamKey>,
    /// Work of the run that has not started is passed over.
    pub(crate) is_cancelled: AtomicBool,
    /// The first failure of its tasks.
    failure: Mutex<Option<Error>>,
}

impl GraphRun {
    fn new(lanes: Vec<StreamKey>) -> GraphRun {
        GraphRun { end: OnceLock::new(), lanes, is_cancelled: AtomicBool::new(false), failure: Mutex::new(None) }
    }

    pub(crate) fn fail(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
    }

    /// The streams of its branches.
    pub(crate) fn lanes(&self) -> &[StreamKey] {
        &self.lanes
    }

    /// What became of a finished run.
    pub(crate) fn result(&self) -> Result<()> {
        lock(&self.failure).take().map_or(Ok(()), fail)
    }
}

impl Machine {
    /// Queues a run. Without a stream it starts at once.
    pub(crate) fn launch(
        &self,
        key: GraphKey,
        graph: &Graph,
        context: ContextKey,
        stream: Option<(StreamKey, &Stream)>,
    ) -> Result<Arc<GraphRun>> {
        let hold = DeferGuard::new();
        let mut state = lock(&graph.state);
        self.check_launch(key, &state, context)?;
        while state.lanes.len() < state.branches {
            state.lanes.push(self.make_lane(context)?);
        }
        let run = Arc::new(GraphRun::new(state.lanes.clone()));
        let first = run.lanes[0];
        let start = match stream {
            Some((key, stream)) => {
                let sequence = self.submit(key, stream, context, Task::Join(Arc::clone(&run)))?;
                StreamPoint { stream: key, sequence: sequence - 1 }
            }
            None => StreamPoint { stream: first, sequence: 0 },
        };
        if let Some(probe) = self.probe() {
            let lanes: Vec<u32> = run.lanes.iter().map(|lane| lane.index() as u32).collect();
            let join = stream.map(|(key, _)| StreamPoint { stream: key, sequence: start.sequence + 1 });
            probe.launched(&lanes, join.map(StreamPosition::from));
        }
        let mut newest = StreamPoint { stream: first, sequence: self.streams.slot(first).newest() };
        let queued = self.queue_entries(&state, context, start, &run, &mut newest);
        if queued.is_err() {
            // Whoever waits for the run goes on; what is queued of it does nothing.
            run.is_cancelled.store(true, Ordering::Release);
        }
        let _ = run.end.set(newest);
        state.end = Some(newest);
        drop(state);
        drop(hold);
        if let Some((key, _)) = stream {
            if let Some(probe) = self.probe() {
                let join = StreamPoint { stream: key, sequence: start.sequence + 1 };
                probe.ordered(join.into(), newest.into());
            }
            self.mark_stream_ready(key);
        }
        self.step_after_submit();
        queued.map(|()| run)
    }

    fn check_launch(&self, key: GraphKey, state: &GraphState, context: ContextKey) -> Result<()> {
        if state.key != Some(key) {
            return fail(Error::Handle { what: HandleKind::Graph, handle: key.raw() });
        }
        if state.capture.is_some() {
            return fail(Error::GraphCapturing);
        }
        match state.context {
            None => return fail(Error::ContextGone),
            Some(other) if other != context => return fail(Error::OtherContextGraph),
            Some(_) => {}
        }
        if state.sub_graphs.iter().any(|sub| self.is_capturing(*sub)) {
            return fail(Error::SubGraphCapturing);
        }
        match state.nodes().position(|node| node.content().is_invalidated()) {
            Some(at) => fail(memory_gone(state.number, at)),
            None => Ok(()),
        }
    }

    /// Queues every entry on the stream of its branch. `newest` is the newest task of branch 0.
    fn queue_entries(
        &self,
        state: &GraphState,
        context: ContextKey,
        start: StreamPoint,
        run: &Arc<GraphRun>,
        newest: &mut StreamPoint,
    ) -> Result<()> {
        let push = |branch: usize, task: Task| -> Result<StreamPoint> {
            let stream = run.lanes[branch];
            let sequence = self.submit(stream, self.streams.slot(stream), context, task)?;
            Ok(StreamPoint { stream, sequence })
        };
        let wait = |point| Task::Wait { after: Waited::Point(point), event: None };
        *newest = push(0, wait(start))?;
        for node in &state.resets {
            *newest = push(0, Task::Node { node: Arc::clone(node), run: Arc::clone(run) })?;
        }
        let mut points = vec![*newest; state.branches];
        let mut records = vec![*newest; state.entries.len()];
        for (at, entry) in state.entries.iter().enumerate() {
            let branch = entry.branch;
            let task = match &entry.step {
                Step::Work(node) => Task::Node { node: Arc::clone(node), run: Arc::clone(run) },
                Step::Record => {
                    records[at] = points[branch];
                    continue;
                }
                Step::Wait(record) => wait(records[*record]),
                Step::SetEvent(event) => {
                    if let Some(point) = self.record_from_graph(*event, run.lanes[branch], context)? {
                        points[branch] = point;
                    }
                    continue;
                }
                Step::AwaitEvent(signal) => {
                    signal.watch(run.lanes[branch]);
                    Task::Wait { after: Waited::Signal(Arc::clone(signal)), event: None }
                }
                Step::AwaitRecord(event) => match self.newest_record(*event) {
                    Some(point) => wait(point),
                    None => continue,
                },
                Step::ResetEvent(signal) => Task::ResetGraphEvent(Arc::clone(signal)),
            };
            points[branch] = push(branch, task)?;
            *newest = points[0];
        }
        *newest = points[0];
        Ok(())
    }

    /// A stream that no program sees.
    fn make_lane(&self, context: ContextKey) -> Result<StreamKey> {
        let device = self.contexts.slot(context).device();
        let open = |stream: &Stream, _| stream.open(context, device, StreamOptions::default());
        self.streams.insert(open).ok_or_else(|| Box::new(Error::Feature("no stream handle left".to_owned())))
    }

    /// Ends a graph. It must not be running.
    pub(crate) fn end_graph(&self, key: GraphKey) -> Result<()> {
        let graph = self.graphs.all.slot(key);
        // A program that asks until the graph is free gives a schedule its chance, before the lock is taken.
        let end = lock(&graph.state).end;
        if let Some(end) = end {
            self.reached(end);
        }
        let is_over = |end: StreamPoint| self.streams.slot(end.stream).track.completion.done() >= end.sequence;
        let (lanes, conditions, sub_graphs) = {
            let mut state = lock(&graph.state);
            if state.key != Some(key) {
                return fail(Error::Handle { what: HandleKind::Graph, handle: key.raw() });
            }
            if state.capture.is_some() {
                return fail(Error::GraphCapturing);
            }
            if state.sub_graphs.iter().any(|sub| self.is_capturing(*sub)) {
                return fail(Error::SubGraphCapturing);
            }
            if state.end.is_some_and(|end| !is_over(end)) {
                return fail(Error::GraphRunning(state.number));
            }
            // From here on no launch finds the graph.
            state.key = None;
            let state = &mut *state;
            (take(&mut state.lanes), take(&mut state.conditions), take(&mut state.sub_graphs))
        };
        lanes.into_iter().for_each(|lane| self.end_lane(lane));
        self.end_sub_graphs(sub_graphs);
        self.free_conditions(conditions);
        self.graphs.remove(key);
        Ok(())
    }

    /// Sub-graphs end with their graph; the program may have ended some already.
    pub(crate) fn end_sub_graphs(&self, keys: Vec<GraphKey>) {
        for key in keys {
            let _ = self.end_graph(key);
        }
    }

    fn end_lane(&self, key: StreamKey) {
        let stream = self.streams.slot(key);
        if self.streams.retire(key) {
            let last = lock(&stream.track.lane).submitted();
            self.wait(StreamPoint { stream: key, sequence: last }, None);
            self.streams.recycle(key);
        }
    }

    /// A context has ended: its graphs can only be destroyed any more.
    pub(crate) fn end_graphs_of(&self, context: ContextKey) {
        let Graphs { all, .. } = &self.graphs;
        for (_, graph) in all.live() {
            let (lanes, conditions) = {
                let mut state = lock(&graph.state);
                if state.context != Some(context) {
                    continue;
                }
                state.context = None;
                state.end = None;
                (take(&mut state.lanes), take(&mut state.conditions))
            };
            lanes.iter().for_each(|lane| self.drop_stuck(*lane));
            lanes.into_iter().for_each(|lane| self.end_lane(lane));
            self.free_conditions(conditions);
        }
    }
}
