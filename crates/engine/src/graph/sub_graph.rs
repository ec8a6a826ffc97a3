//! Conditional tasks of graphs, and the sub-graphs that they select from: the calls.

use crate::allocation::out_of_memory;
use crate::caller::Caller;
use crate::graph::condition::{CELL_SIZE, CellState, ConditionKind};
use crate::graph::{ActiveCapture, Capture, CaptureMode, Graph, Redirect, Step};
use crate::keys::{ConditionKey, GraphKey};
use crate::machine::Machine;
use crate::task::moves::Move;
use crate::task::{Condition, Content, Control, Node, SubGraph};
use softacl_errors::{Error, HandleKind, MemoryPool, Result, fail};
use softacl_sync::facade::{lock, thread};
use std::sync::Arc;

/// Maximum number of sub-graphs of a conditional task. Not a documented limit.
const MAX_SUB_GRAPHS: usize = 1024;

impl Caller<'_> {
    /// Creates a value for conditional tasks of a graph. With `assign`, every run starts with the default.
    pub fn create_condition(&self, graph: usize, default: u32, assign: bool) -> Result<ConditionKey> {
        let (graph_key, graph) = self.graph(graph)?;
        let (context_key, context) = self.context()?;
        let of_other = lock(&graph.state).context != Some(context_key);
        if of_other {
            return fail(Error::OtherContextGraph);
        }
        let device = context.device();
        let heap = self.machine.memory.device(device);
        let none = || out_of_memory(MemoryPool::Device(device), CELL_SIZE, heap.usage());
        let address = heap.allocate(CELL_SIZE).ok_or_else(none)?;
        let backing = self.machine.memory.backing_address(address);
        let buffer = u64::from(default).to_le_bytes();
        let _guard = softacl_memory::segv::enter();
        let inaccessible = |_| Error::Inaccessible { side: "condition", address, len: CELL_SIZE };
        // SAFETY: the cell was just allocated.
        unsafe { softacl_memory::bytes::write(backing, &buffer) }.map_err(inaccessible)?;
        let open = |cell: &crate::graph::ConditionCell, _| {
            *lock(&cell.state) = CellState { graph: Some(graph_key), address };
        };
        let Some(key) = self.machine.graphs.conditions.insert(open) else {
            heap.free(address, |len| self.machine.quarantine_until(backing, len));
            return fail(Error::NoHandle("condition"));
        };
        let mut state = lock(&graph.state);
        state.conditions.push(key);
        if assign {
            let task = Move::Staged { buffer: Box::new(buffer), target: backing };
            state.resets.push(Arc::new(Node::new(Content::new(task.into())?)));
        }
        Ok(key)
    }

    /// The device address of a value.
    pub fn condition_address(&self, raw: usize) -> Result<usize> {
        Ok(self.condition(raw)?.1)
    }

    /// Resolves a condition handle to its graph and the address of its value.
    fn condition(&self, raw: usize) -> Result<(GraphKey, usize)> {
        let unknown = || Error::Handle { what: HandleKind::Condition, handle: raw };
        let key = ConditionKey::from_raw(raw).ok_or_else(unknown)?;
        let state = lock(&self.machine.graphs.conditions.get(key).ok_or_else(unknown)?.state);
        Ok((state.graph.ok_or_else(unknown)?, state.address))
    }

    /// Captures a conditional task with `count` new sub-graphs. Returns their handles.
    pub fn add_condition(&self, condition: usize, kind: i32, count: usize, stream: usize) -> Result<Vec<usize>> {
        let (_, stream) = self.stream(stream)?;
        let (_, address) = self.condition(condition)?;
        let (kind, counts) = match kind {
            0 => (ConditionKind::If, 1..=2),
            1 => (ConditionKind::While, 1..=1),
            2 => (ConditionKind::Switch, 1..=MAX_SUB_GRAPHS),
            other => return fail(Error::Parameter(format!("condition type {other} does not exist; types are 0 to 2"))),
        };
        if !counts.contains(&count) {
            let (least, most) = (counts.start(), counts.end());
            return fail(Error::Parameter(format!(
                "{count} sub-graphs do not fit {kind:?}, which has {least} to {most}"
            )));
        }
        let (parent, _) = stream.capture().ok_or(Error::NotCapturing)?;
        let bodies: Vec<Arc<SubGraph>> = (0..count).map(|_| Arc::default()).collect();
        let cell = self.machine.memory.backing_address(address);
        let content =
            Content::new(Control::Condition(Arc::new(Condition { kind, cell, bodies: bodies.clone() })).into())?;
        self.machine.capture_step(stream, Step::Work(Arc::new(Node::new(content))))?;
        let context = lock(&self.machine.graphs.all.slot(parent).state).context.ok_or(Error::ContextGone)?;
        let mut handles = Vec::new();
        for body in bodies {
            let full = || Error::NoHandle("graph");
            let key = self.machine.graphs.insert(context).ok_or_else(full)?;
            lock(&self.machine.graphs.all.slot(key).state).body = Some(body);
            lock(&self.machine.graphs.all.slot(parent).state).sub_graphs.push(key);
            handles.push(key.raw());
        }
        Ok(handles)
    }

    /// Starts a capture into a sub-graph that has not been captured yet.
    pub fn begin_sub_capture(&self, stream: usize, raw: usize, mode: CaptureMode) -> Result<()> {
        let (graph_key, graph) = self.graph(raw)?;
        let (key, stream, context) = self.capturable(stream)?;
        if stream.is_redirected() {
            return fail(Error::Capturing("captured again"));
        }
        let thread = thread::current().id();
        {
            let mut state = lock(&graph.state);
            if state.context != Some(context) {
                return fail(Error::OtherContextGraph);
            }
            if state.body.is_none() {
                return fail(Error::Parameter(format!("{raw:#x} is a top-level graph, not a sub-graph")));
            }
            if state.capture.is_some() || !state.entries.is_empty() {
                return fail(Error::GraphCapturing);
            }
            state.capture = Some(Capture::new(thread, mode, key));
        }
        self.machine.begin_active(ActiveCapture { graph: graph_key, thread, mode, context });
        stream.redirect(Redirect::Capture { graph: graph_key, branch: 0 });
        Ok(())
    }

    /// True if a stream is captured into a sub-graph.
    pub(crate) fn captures_sub_graph(&self, stream: &crate::stream::Stream) -> bool {
        let graph = stream.capture().map(|(key, _)| self.machine.graphs.all.slot(key));
        graph.is_some_and(|graph: &Graph| lock(&graph.state).body.is_some())
    }
}

impl Machine {
    /// Frees the values of a graph.
    pub(crate) fn free_conditions(&self, conditions: Vec<ConditionKey>) {
        for key in conditions {
            let address = std::mem::take(&mut *lock(&self.graphs.conditions.slot(key).state)).address;
            self.graphs.conditions.remove(key);
            if let Some(device) = self.memory.device_of(address) {
                // The program may have freed it already.
                self.memory
                    .device(device)
                    .free(address, |len| self.quarantine_until(self.memory.backing_address(address), len));
            }
        }
    }
}
