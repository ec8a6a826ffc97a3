//! Launching: the entries of a graph are queued on private streams of the graph, one per branch, and the launching
//! stream waits for their end.
//!
//! To the launching stream a run is one task. The wait is queued first, and the branches start after what was queued
//! before it, so that no task that another thread queues can come between. Runs of one graph are ordered, because its
//! streams are FIFO and all branches are joined.

use crate::executor::defer::DeferGuard;
use crate::graph::run::GraphRun;
use crate::graph::{Graph, GraphState, Graphs, Step, uses_freed_memory};
use crate::keys::{ContextKey, GraphKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::StreamPosition;
use crate::stream::{Stream, StreamOptions};
use crate::task::external_wait::ExternalWait;
use crate::task::{Control, Task, Wait, Waited};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_sync::facade::{Ordering, lock};
use std::mem::take;
use std::sync::{Arc, Weak};

/// How often the wait for a canceled run rechecks for calls into the program that reached a thread which cannot start
/// them: it never processes reports, or it is the waiting thread.
const CANCEL_RECHECK_MS: i32 = 10;

impl Machine {
    /// Queues a run. Without a stream, the run starts immediately.
    pub(crate) fn launch(
        &self,
        key: GraphKey,
        graph: &Graph,
        context: ContextKey,
        stream: Option<(StreamKey, &Stream)>,
    ) -> Result<Arc<GraphRun>> {
        let defer = DeferGuard::new();
        let mut state = lock(&graph.state);
        self.check_launch(key, &state, context)?;
        let program = state.program().map(Arc::clone);
        // The additional stream of a built graph starts its runs.
        while state.streams.len() < state.branches + usize::from(program.is_some()) {
            state.streams.push(self.make_graph_stream(context)?);
        }
        let run = Arc::new(GraphRun::new(state.streams.clone()));
        let first = run.streams()[0];
        let start = match stream {
            Some((key, stream)) => {
                let sequence = self.submit(key, stream, context, Control::Join(Arc::clone(&run)))?;
                StreamPoint { stream: key, sequence: sequence - 1 }
            }
            None => StreamPoint { stream: first, sequence: 0 },
        };
        if let Some(observer) = self.observer() {
            let streams: Vec<u32> = run.streams().iter().map(|stream| stream.index() as u32).collect();
            let join = stream.map(|(key, _)| StreamPoint { stream: key, sequence: start.sequence + 1 });
            observer.launched(&streams, join.map(StreamPosition::from));
        }
        let mut newest = StreamPoint { stream: first, sequence: self.streams.slot(first).newest() };
        let queued = match &program {
            Some(program) => self.queue_program(program, &state.resets, context, start, &run).map(|end| newest = end),
            None => self.queue_entries(&state, context, start, &run, &mut newest),
        };
        if queued.is_err() {
            // The waiting stream continues, and the queued steps do nothing.
            run.is_canceled.store(true, Ordering::Release);
        }
        let _ = run.end.set(newest);
        state.end = Some(newest);
        state.runs.retain(|run| run.strong_count() > 0);
        state.runs.push(Arc::downgrade(&run));
        drop(state);
        drop(defer);
        if let Some((key, _)) = stream {
            if let Some(observer) = self.observer() {
                let join = StreamPoint { stream: key, sequence: start.sequence + 1 };
                observer.ordered(join.into(), newest.into());
            }
            self.mark_stream_ready(key);
        }
        self.step_after_submit();
        queued.map(|()| run)
    }

    /// A wait for an event in a run. It has the limit that the program has set when the run is launched.
    pub(super) fn event_wait(&self, after: Waited) -> Control {
        let limit = self.event_wait_limit().map(ExternalWait::limit);
        Control::Wait(Box::new(Wait { after, event: None, limit }))
    }

    /// The result of a finished run: its first failure, also of a task that orders its branches.
    pub(crate) fn run_result(&self, run: &GraphRun) -> Result<()> {
        for stream in run.streams().iter().filter_map(|key| self.streams.get(*key)) {
            if let Some(error) = stream.take_failure() {
                run.fail(error.in_graph());
            }
        }
        run.result()
    }

    /// Waits for the end of a canceled run. Calls into the program that no thread has started are taken back, because their
    /// thread may never process reports, or may be the calling one.
    pub(crate) fn wait_canceled(&self, run: &GraphRun) {
        let Some(end) = run.end.get() else { return };
        while !self.wait(*end, self.deadline(CANCEL_RECHECK_MS)) {
            if run.is_flowing.load(Ordering::Acquire) {
                // A branch may wait for a record that will not be made.
                for stream in run.streams() {
                    self.drop_branch(*stream, run);
                }
            }
            for stream in run.streams() {
                self.subscriptions.cancel(self, *stream);
            }
        }
    }

    /// Drops the tasks of a branch, unless the stream is the one that starts runs.
    fn drop_branch(&self, key: StreamKey, run: &GraphRun) {
        if run.streams().last() != Some(&key) {
            self.drop_pending(key, self.streams.slot(key));
        }
    }

    /// Refuses a graph that cannot run.
    fn check_launch(&self, key: GraphKey, state: &GraphState, context: ContextKey) -> Result<()> {
        if state.key != Some(key) {
            return fail(Error::Handle { what: HandleKind::Graph, handle: key.raw() });
        }
        if state.capture.is_some() {
            return fail(Error::GraphCapturing);
        }
        if state.build.is_some() && state.program().is_none() {
            return fail(Error::Parameter(format!(
                "graph {} is still being built: call aclmdlRIBuildEnd first",
                state.id
            )));
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
            Some(at) => fail(uses_freed_memory(state.id, at)),
            None => Ok(()),
        }
    }

    /// Queues every entry on the stream of its branch. `newest` receives the newest task of branch 0.
    fn queue_entries(
        &self,
        state: &GraphState,
        context: ContextKey,
        start: StreamPoint,
        run: &Arc<GraphRun>,
        newest: &mut StreamPoint,
    ) -> Result<()> {
        let push = |branch: usize, task: Task| -> Result<StreamPoint> {
            let stream = run.streams()[branch];
            let sequence = self.submit(stream, self.streams.slot(stream), context, task)?;
            Ok(StreamPoint { stream, sequence })
        };
        *newest = push(0, Wait::after(Waited::Point(start)).into())?;
        for node in &state.resets {
            *newest = push(0, Control::Node { node: Arc::clone(node), run: Arc::clone(run) }.into())?;
        }
        let mut points = vec![*newest; state.branches];
        let mut records = vec![*newest; state.entries.len()];
        for (at, entry) in state.entries.iter().enumerate() {
            let branch = entry.branch;
            let task = match &entry.step {
                Step::Work(node) => Control::Node { node: Arc::clone(node), run: Arc::clone(run) },
                Step::Record(_) => {
                    records[at] = points[branch];
                    continue;
                }
                Step::Wait { record, .. } => self.event_wait(Waited::Point(records[*record])),
                Step::SetEvent(event) => {
                    if let Some(point) = self.record_from_graph(*event, run.streams()[branch], context)? {
                        points[branch] = point;
                    }
                    continue;
                }
                Step::AwaitEvent(graph_event) => {
                    graph_event.watch(run.streams()[branch]);
                    self.event_wait(Waited::GraphEvent(Arc::clone(graph_event)))
                }
                Step::AwaitRecord(event) => match self.awaited_outside(*event, run.streams()[branch]) {
                    Some(after) => self.event_wait(after),
                    None => continue,
                },
                Step::ResetEvent(graph_event) => Control::ResetGraphEvent(Arc::clone(graph_event)),
                // Occur only in a graph that is built, which has a program.
                Step::SetLocal(_) | Step::AwaitLocal(_) | Step::ResetLocal(_) | Step::Label(_) | Step::Activate(_) => {
                    continue;
                }
            };
            points[branch] = push(branch, task.into())?;
            *newest = points[0];
        }
        *newest = points[0];
        Ok(())
    }

    /// Creates a stream that the program has no handle of.
    fn make_graph_stream(&self, context: ContextKey) -> Result<StreamKey> {
        let device = self.contexts.slot(context).device();
        self.take_graph_stream(device)?;
        let open = |stream: &Stream, _| stream.open(context, device, StreamOptions::default());
        self.streams.insert(open).ok_or_else(|| {
            self.release_graph_stream(device);
            Box::new(Error::NoHandle("stream"))
        })
    }

    /// Ends a graph that is not running.
    pub(crate) fn end_graph(&self, key: GraphKey) -> Result<()> {
        let graph = self.graphs.all.slot(key);
        // A program that retries until the graph is idle must let a schedule make progress, before the lock is taken.
        let end = lock(&graph.state).end;
        if let Some(end) = end {
            self.reached(end);
        }
        let (streams, conditions, sub_graphs, bound) = {
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
            if state.end.is_some_and(|end| !self.is_finished(end)) {
                return fail(Error::GraphRunning(state.id));
            }
            // From here on, no launch finds the graph.
            state.key = None;
            let state = &mut *state;
            let bound = state.build.take().map_or_else(Vec::new, |build| build.streams);
            (take(&mut state.streams), take(&mut state.conditions), take(&mut state.sub_graphs), bound)
        };
        bound.iter().for_each(|bound| self.streams.slot(bound.stream).stop_redirect(key));
        streams.into_iter().for_each(|stream| self.end_graph_stream(stream));
        self.end_sub_graphs(sub_graphs);
        self.free_conditions(conditions);
        self.graphs.remove(key);
        Ok(())
    }

    /// True if a run has ended.
    pub(super) fn is_finished(&self, end: StreamPoint) -> bool {
        self.streams.slot(end.stream).tasks.completion.done() >= end.sequence
    }

    /// Ends sub-graphs with their graph. The program may have ended some already.
    pub(crate) fn end_sub_graphs(&self, keys: Vec<GraphKey>) {
        for key in keys {
            let _ = self.end_graph(key);
        }
    }

    /// Waits for a stream of a graph and ends it.
    fn end_graph_stream(&self, key: StreamKey) {
        let stream = self.streams.slot(key);
        if self.streams.retire(key) {
            let last = lock(&stream.tasks.lane).submitted();
            self.wait(StreamPoint { stream: key, sequence: last }, None);
            self.release_graph_stream(stream.device());
            self.streams.recycle(key);
        }
    }

    /// Ends the runs and conditions of all graphs of a context that ended. The graphs can only be destroyed afterwards.
    pub(crate) fn end_graphs_of(&self, context: ContextKey) {
        let Graphs { all, .. } = &self.graphs;
        for (_, graph) in all.live() {
            let (streams, conditions, built) = {
                let mut state = lock(&graph.state);
                if state.context != Some(context) {
                    continue;
                }
                state.context = None;
                state.end = None;
                let built = if state.build.is_some() { take(&mut state.runs) } else { Vec::new() };
                (take(&mut state.streams), take(&mut state.conditions), built)
            };
            // A graph that was built may loop, or wait for a record that will not be made.
            for run in built.iter().filter_map(Weak::upgrade) {
                run.is_canceled.store(true, Ordering::Release);
                streams.iter().for_each(|stream| drop(self.drop_pending(*stream, self.streams.slot(*stream))));
            }
            streams.iter().for_each(|stream| self.drop_stuck(*stream));
            streams.into_iter().for_each(|stream| self.end_graph_stream(stream));
            self.free_conditions(conditions);
        }
    }
}
