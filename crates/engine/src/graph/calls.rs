//! Graphs: launching, ending, describing.
//!
//! Capturing is in `capture`, task groups in `group`, conditional tasks in `sub_graph`.

use crate::caller::Caller;
use crate::graph::{Graph, GraphDescription};
use crate::keys::GraphKey;
use crate::timeout::deadline;
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_sync::facade::lock;

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
        if !self.machine.wait(end, deadline(timeout_ms)) {
            return fail(Error::StreamTimeout(timeout_ms));
        }
        self.machine.run_result(&run)?;
        context.check()
    }

    /// Ends a graph that is neither capturing nor running.
    pub fn destroy_graph(&self, raw: usize) -> Result<()> {
        let (key, _) = self.graph(raw)?;
        self.machine.end_graph(key)
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
