//! Graphs: launching, ending, describing.
//!
//! Capturing is in `capture`, task groups in `group`, conditional tasks in `sub_graph`.

use crate::caller::Caller;
use crate::graph::run::GraphRun;
use crate::graph::{DestroyCallback, Graph, GraphDescription};
use crate::host::HeldRun;
use crate::keys::GraphKey;
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_sync::facade::{Ordering, lock};
use std::sync::{Arc, Weak};

impl Caller<'_> {
    /// Queues a run of a graph on a stream, as one task.
    pub fn launch_graph(&self, raw: usize, stream: usize) -> Result<()> {
        let (key, graph) = self.graph(raw)?;
        let at = self.submission(self.explicit_stream(stream)?)?;
        self.machine.launch(key, graph, at.context, Some((at.key, at.stream))).map(|_| ())
    }

    /// Runs a graph and waits for it.
    pub fn run_graph(&self, raw: usize, timeout_ms: i32) -> Result<()> {
        let (key, graph) = self.graph(raw)?;
        let (context_key, context) = self.context()?;
        self.check_may_block()?;
        context.check()?;
        self.machine.check_device_usable(context.device())?;
        let run = self.machine.launch(key, graph, context_key, None)?;
        let end = *run.end.get().expect("set by the launch");
        if !self.machine.wait(end, self.machine.deadline(timeout_ms)) {
            return fail(Error::StreamTimeout(timeout_ms));
        }
        self.machine.run_result(&run)?;
        context.check()
    }

    /// Ends a graph that is neither capturing nor running, and calls what was registered for that.
    pub fn destroy_graph(&self, raw: usize) -> Result<()> {
        let (key, graph) = self.graph(raw)?;
        let on_destroy = std::mem::take(&mut lock(&graph.state).on_destroy);
        if let Err(error) = self.machine.end_graph(key) {
            if let Ok((_, graph)) = self.graph(raw) {
                lock(&graph.state).on_destroy = on_destroy;
            }
            return Err(error);
        }
        for callback in on_destroy {
            (callback.function)();
        }
        Ok(())
    }

    /// Registers a function that is called when the graph is destroyed. `id` names it.
    pub fn call_on_destroy(&self, raw: usize, id: usize, function: Arc<dyn Fn() + Send + Sync>) -> Result<()> {
        let (_, graph) = self.graph(raw)?;
        let callbacks = &mut lock(&graph.state).on_destroy;
        if callbacks.iter().any(|other| other.id == id) {
            return fail(Error::Parameter("the function is registered with this graph already".to_owned()));
        }
        callbacks.push(DestroyCallback { id, function });
        Ok(())
    }

    /// Removes a function that was registered with `call_on_destroy`.
    pub fn forget_on_destroy(&self, raw: usize, id: usize) -> Result<()> {
        let (_, graph) = self.graph(raw)?;
        let callbacks = &mut lock(&graph.state).on_destroy;
        match callbacks.iter().position(|other| other.id == id) {
            Some(at) => {
                callbacks.remove(at);
                Ok(())
            }
            None => fail(Error::Parameter("the function is not registered with this graph".to_owned())),
        }
    }

    /// Stops the runs of a graph: drops the tasks that have not started, and waits for the others.
    pub fn abort_graph(&self, raw: usize) -> Result<()> {
        let (_, graph) = self.graph(raw)?;
        let (id, runs, streams) = {
            let state = lock(&graph.state);
            if state.capture.is_some() {
                return fail(Error::GraphCapturing);
            }
            let runs: Vec<Arc<GraphRun>> = state.runs.iter().filter_map(Weak::upgrade).collect();
            (state.id, runs, state.streams.clone())
        };
        if runs.iter().any(HeldRun::is_held_here) {
            return fail(Error::AbortInsideGraph(id));
        }
        runs.iter().for_each(|run| run.is_canceled.store(true, Ordering::Release));
        for stream in streams {
            self.machine.drop_pending(stream, self.machine.streams.slot(stream));
        }
        // Wakes steps that wait for something outside: their run is canceled.
        self.machine.poll_external_waits();
        runs.iter().for_each(|run| self.machine.wait_canceled(run));
        Ok(())
    }

    /// The name that the program gave a graph; empty without one.
    pub fn graph_name(&self, raw: usize) -> Result<String> {
        Ok(lock(&self.graph(raw)?.1.state).name.clone())
    }

    /// Names a graph.
    pub fn set_graph_name(&self, raw: usize, name: String) -> Result<()> {
        lock(&self.graph(raw)?.1.state).name = name;
        Ok(())
    }

    /// Id of a graph: unique in the process.
    pub fn graph_id(&self, raw: usize) -> Result<u32> {
        Ok(lock(&self.graph(raw)?.1.state).id)
    }

    /// Describes the steps of a graph.
    pub fn describe_graph(&self, raw: usize) -> Result<GraphDescription> {
        Ok(lock(&self.graph(raw)?.1.state).describe())
    }

    /// Resolves a graph handle.
    pub(super) fn graph(&self, raw: usize) -> Result<(GraphKey, &Graph)> {
        let unknown = || Error::Handle { what: HandleKind::Graph, handle: raw };
        let key = GraphKey::from_raw(raw).ok_or_else(unknown)?;
        let graph = self.machine.graphs.all.get(key).ok_or_else(unknown)?;
        Ok((key, graph))
    }
}
