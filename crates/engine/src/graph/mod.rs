//! Graphs: work of streams that was captured once and runs many times.
//!
//! A graph is a list of entries in the order in which they were captured; each belongs to a branch,
//! one per captured stream, and waits point back to records. So the list is always a valid order.
//! `node` is one piece of work, `launch` makes a run out of a graph, `signal` is an event that graphs
//! share with ordinary streams, `condition` chooses between sub-graphs. What a program may ask for, and when, is in `calls`.
//!
//! Lock order: the heap's state and a stream's diversion may be held while a graph's state is taken,
//! never the other way round. No task takes a graph's state when it runs.

pub(crate) mod calls;
pub(crate) mod capture;
mod capture_events;
pub(crate) mod condition;
mod group;
mod iteration;
mod launch;
pub(crate) mod node;
pub(crate) mod run;
mod sub_graph;

pub use condition::{ConditionCell, ConditionKind};

use crate::keys::{
    ConditionKey, ConditionTag, ContextKey, EventKey, GraphEvent, GraphKey, GraphTag, GroupKey, GroupTag, StreamKey,
    StreamPoint,
};
use crate::task::{Content, Node, SubGraph};
use softacl_errors::Error;
use softacl_sync::facade::{AtomicU32, Mutex, Ordering, lock, thread};
use softacl_sync::handle::Slots;
use std::sync::{Arc, Weak};

/// How strict a capture, or a thread, is about calls that block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureMode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// What can be said of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureStatus {
    None,
    Active(GraphKey),
    Invalidated(GraphKey),
}

#[derive(Default)]
pub struct Graph {
    pub(crate) state: Mutex<GraphState>,
}

#[derive(Default)]
pub(crate) struct GraphState {
    pub(crate) key: Option<GraphKey>,
    pub(crate) id: u32,
    pub(crate) context: Option<ContextKey>,
    /// While the graph is being captured.
    pub(crate) capture: Option<Capture>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) branches: usize,
    /// Captures of a sub-graph that failed before: what they recorded is not part of this one.
    pub(crate) failures: usize,
    /// Streams of its own that runs use, one per branch; made by the first run.
    streams: Vec<StreamKey>,
    /// Where the newest run ends.
    end: Option<StreamPoint>,
    pub(crate) groups: Vec<GroupKey>,
    pub(crate) conditions: Vec<ConditionKey>,
    /// What gives conditions their defaults when a run begins.
    pub(crate) resets: Vec<Arc<Node>>,
    /// Graphs that conditional tasks choose from.
    pub(crate) sub_graphs: Vec<GraphKey>,
    /// For a sub-graph: where the conditional task finds its steps.
    pub(crate) body: Option<Arc<SubGraph>>,
    /// Contents that updates have offered; a node may take them over later.
    pub(crate) update_contents: Vec<Weak<Content>>,
}

/// One step of a graph.
pub(crate) struct Entry {
    pub(crate) branch: usize,
    pub(crate) step: Step,
}

pub(crate) enum Step {
    Work(Arc<Node>),
    Record,
    /// Waits for the record with this index.
    Wait(usize),
    /// Records an event that streams outside the graph see.
    SetEvent(EventKey),
    /// Waits for such an event.
    AwaitEvent(Arc<GraphEvent>),
    /// Waits for the record that another event has when the run is launched.
    AwaitRecord(EventKey),
    /// Resets such an event.
    ResetEvent(Arc<GraphEvent>),
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Step::Work(node) => node.name(),
            Step::Record | Step::SetEvent(_) => "event record",
            Step::Wait(_) | Step::AwaitEvent(_) | Step::AwaitRecord(_) => "event wait",
            Step::ResetEvent(_) => "event reset",
        }
    }
}

/// A capture in progress.
pub(crate) struct Capture {
    pub(crate) thread: thread::ThreadId,
    /// The streams in it: element n is branch n, the one where it began is branch 0.
    pub(crate) streams: Vec<StreamKey>,
    /// A dependency was refused that the graph would lack.
    pub(crate) is_invalid: bool,
    /// The branch with an open task group, and its nodes.
    pub(crate) group: Option<(usize, Vec<Arc<Node>>)>,
}

/// A record that was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapturedRecord {
    pub(crate) graph: GraphKey,
    pub(crate) entry: usize,
    /// `GraphState::failures` then.
    failures: usize,
}

/// Where the tasks of a stream go instead of its lane.
pub(crate) enum Redirect {
    Capture { graph: GraphKey, branch: usize },
    Update { group: GroupKey, contents: Vec<Arc<Content>> },
}

/// Captured tasks that can be given new parameters.
#[derive(Default)]
pub struct Group {
    pub(crate) state: Mutex<GroupState>,
}

#[derive(Default)]
pub(crate) struct GroupState {
    pub(crate) graph: Option<GraphKey>,
    pub(crate) nodes: Vec<Arc<Node>>,
}

/// What a graph is made of, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphDescription {
    pub id: u32,
    pub branches: usize,
    pub steps: Vec<StepDescription>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepDescription {
    pub branch: usize,
    pub name: &'static str,
    /// The step that a wait within the graph is for.
    pub after: Option<usize>,
}

impl GraphState {
    /// What a record is that was just captured.
    pub(crate) fn captured(&self, graph: GraphKey, entry: usize) -> CapturedRecord {
        CapturedRecord { graph, entry, failures: self.failures }
    }

    /// Whether a record is part of the capture in progress.
    pub(crate) fn is_capturing(&self, record: CapturedRecord) -> bool {
        self.capture.is_some() && self.failures == record.failures
    }

    /// A capture of this sub-graph has failed; it may be captured again.
    pub(crate) fn restart_capture(&mut self) {
        self.entries.clear();
        self.branches = 1;
        self.failures += 1;
    }

    /// Whether everything of every branch comes before the end of branch 0.
    pub(crate) fn is_joined(&self) -> bool {
        let mut reached = vec![0; self.branches];
        let mut open = vec![(0, self.entries.len())];
        while let Some((branch, before)) = open.pop() {
            let unvisited = reached[branch]..before;
            if unvisited.is_empty() {
                continue;
            }
            reached[branch] = before;
            for entry in self.entries[unvisited].iter().filter(|entry| entry.branch == branch) {
                if let Step::Wait(record) = entry.step {
                    open.push((self.entries[record].branch, record + 1));
                }
            }
        }
        let counts = |step: &Step| !matches!(step, Step::Record);
        !self.entries.iter().enumerate().any(|(at, entry)| counts(&entry.step) && at >= reached[entry.branch])
    }

    pub(crate) fn describe(&self) -> GraphDescription {
        let describe = |entry: &Entry| StepDescription {
            branch: entry.branch,
            name: entry.step.name(),
            after: if let Step::Wait(record) = entry.step { Some(record) } else { None },
        };
        GraphDescription { id: self.id, branches: self.branches, steps: self.entries.iter().map(describe).collect() }
    }

    /// All work, in the order of the capture.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        let captured = self.entries.iter().filter_map(|entry| match &entry.step {
            Step::Work(node) => Some(node),
            _ => None,
        });
        self.resets.iter().chain(captured)
    }

    /// Memory was freed: what names it cannot run any more.
    fn invalidate_range(&mut self, start: usize, len: usize) {
        self.nodes().for_each(|node| node.content().invalidate_range(start, len));
        self.update_contents.retain(|content| match content.upgrade() {
            Some(content) => {
                content.invalidate_range(start, len);
                true
            }
            None => false,
        });
    }
}

/// All graphs of the machine, and the captures in progress.
#[derive(Default)]
pub(crate) struct Graphs {
    pub(crate) all: Slots<Graph, GraphTag>,
    pub(crate) groups: Slots<Group, GroupTag>,
    pub(crate) conditions: Slots<ConditionCell, ConditionTag>,
    /// Captures that forbid blocking calls. Zero in ordinary programs: one relaxed load per call.
    strict: AtomicU32,
    active: Mutex<Vec<(GraphKey, thread::ThreadId, CaptureMode)>>,
    /// Graphs that exist, so that freeing memory costs nothing while there are none.
    count: AtomicU32,
    next_id: AtomicU32,
}

impl Graphs {
    pub(crate) fn insert(&self, context: ContextKey) -> Option<GraphKey> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let open = |graph: &Graph, key| {
            *lock(&graph.state) =
                GraphState { key: Some(key), id, context: Some(context), branches: 1, ..GraphState::default() };
        };
        self.count.fetch_add(1, Ordering::AcqRel);
        let key = self.all.insert(open);
        if key.is_none() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        key
    }

    /// Ends a graph that is neither captured nor running, and its groups.
    pub(crate) fn remove(&self, key: GraphKey) -> bool {
        let graph = self.all.slot(key);
        let ended = self.all.retire(key);
        if ended {
            let state = std::mem::take(&mut *lock(&graph.state));
            for group in state.groups {
                *lock(&self.groups.slot(group).state) = GroupState::default();
                self.groups.remove(group);
            }
            self.count.fetch_sub(1, Ordering::AcqRel);
            self.all.recycle(key);
        }
        ended
    }

    pub(crate) fn begin(&self, key: GraphKey, thread: thread::ThreadId, mode: CaptureMode) {
        lock(&self.active).push((key, thread, mode));
        if mode != CaptureMode::Relaxed {
            self.strict.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn end(&self, key: GraphKey) {
        lock(&self.active).retain(|(other, _, mode)| {
            if *other == key && *mode != CaptureMode::Relaxed {
                self.strict.fetch_sub(1, Ordering::AcqRel);
            }
            *other != key
        });
    }

    /// Whether a thread with that mode may make a call that blocks.
    #[inline]
    pub(crate) fn allow_blocking(&self, mode: impl FnOnce() -> CaptureMode) -> bool {
        self.strict.load(Ordering::Relaxed) == 0 || self.allow_blocking_in(mode())
    }

    #[cold]
    fn allow_blocking_in(&self, mode: CaptureMode) -> bool {
        let this = thread::current().id();
        let active = lock(&self.active);
        let own = active.iter().any(|(_, thread, mode)| *thread == this && *mode != CaptureMode::Relaxed);
        let any_global = active.iter().any(|(.., mode)| *mode == CaptureMode::Global);
        match mode {
            CaptureMode::Relaxed => true,
            CaptureMode::ThreadLocal => !own,
            CaptureMode::Global => !own && !any_global,
        }
    }

    /// The bytes that the engine reaches at `start` were freed.
    pub(crate) fn invalidate_range(&self, start: usize, len: usize) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        for (_, graph) in self.all.live() {
            lock(&graph.state).invalidate_range(start, len);
        }
    }
}

/// The refusal of a run whose memory is gone.
fn memory_gone(id: u32, node: usize) -> Error {
    Error::Parameter(format!("graph {id} cannot run: task {node} names memory that was freed after the capture"))
}
