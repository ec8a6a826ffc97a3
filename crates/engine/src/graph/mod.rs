//! Graphs: tasks of streams that are captured once and run many times.
//!
//! A graph is a list of entries in capture order. Each belongs to a branch, one per captured stream, and waits refer
//! back to records, so the list is always a valid order. `node` is one captured task, `launch` turns a graph into a
//! run, and `condition` selects sub-graphs. An event that graphs share with outside streams is a `GraphEvent`. What a
//! program can do with graphs is in `calls`, `capture`, `group` and `sub_graph`.
//!
//! Lock order: the state of the heap and the redirect of a stream may be held while the state of a graph is taken,
//! never the other way round. No task takes the state of a graph when it runs.

mod build;
pub(crate) mod calls;
pub(crate) mod capture;
mod capture_events;
pub(crate) mod condition;
mod flow;
mod group;
mod inspect;
mod iteration;
mod label;
mod launch;
pub(crate) mod node;
pub(crate) mod program;
pub(crate) mod run;
mod sub_graph;

pub use condition::{ConditionCell, ConditionKind};
pub use inspect::{EntryKind, EntryParameters};
pub use program::Comparison;

use crate::keys::{
    ConditionKey, ConditionTag, ContextKey, EventKey, GraphEvent, GraphKey, GraphTag, GroupKey, GroupTag, PartKey,
    PartTag, StreamKey, StreamPoint,
};
use crate::task::{Content, Node, SubGraph, Task};
use program::Program;
use run::GraphRun;
use softacl_errors::{Error, Result};
use softacl_sync::facade::{AtomicU32, Mutex, Ordering, lock, thread};
use softacl_sync::handle::Slots;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// How strictly a capture, or a thread, treats blocking calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureMode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// The capture status of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureStatus {
    None,
    Active(GraphKey),
    Invalidated(GraphKey),
}

/// A graph of the API.
#[derive(Default)]
pub struct Graph {
    pub(crate) state: Mutex<GraphState>,
}

#[derive(Default)]
pub(crate) struct GraphState {
    pub(crate) key: Option<GraphKey>,
    pub(crate) id: u32,
    pub(crate) context: Option<ContextKey>,
    /// Present while the graph is being captured.
    pub(crate) capture: Option<Capture>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) branches: usize,
    /// Number of failed captures of this sub-graph. Records of a failed capture are not part of a later one.
    pub(crate) failures: usize,
    /// Private streams of the graph, one per branch. Created by the first run.
    streams: Vec<StreamKey>,
    /// End of the newest run.
    end: Option<StreamPoint>,
    pub(crate) groups: Vec<GroupKey>,
    pub(crate) conditions: Vec<ConditionKey>,
    /// Steps that reset conditions to their defaults when a run starts.
    pub(crate) resets: Vec<Arc<Node>>,
    /// Graphs that conditional tasks select from.
    pub(crate) sub_graphs: Vec<GraphKey>,
    /// For a sub-graph: the steps that its conditional task runs.
    pub(crate) body: Option<Arc<SubGraph>>,
    /// Contents of updates in progress. A node may take them over later.
    pub(crate) update_contents: Vec<Weak<Content>>,
    /// Present for a graph that is built stream by stream instead of captured.
    pub(crate) build: Option<Build>,
    /// Runs that may not have ended.
    pub(crate) runs: Vec<Weak<GraphRun>>,
    pub(crate) name: String,
    /// Called when the program destroys the graph, in this order.
    pub(crate) on_destroy: Vec<DestroyCallback>,
    /// Handles of branches and entries that the program has asked for.
    pub(crate) branch_handles: Vec<PartKey>,
    pub(crate) entry_handles: HashMap<usize, PartKey>,
    /// Contents that replace those of entries at the next update of the graph.
    pub(crate) pending: Vec<(usize, Arc<Content>)>,
}

/// A function that is called when a graph is destroyed, and the address by which the program names it.
pub(crate) struct DestroyCallback {
    pub(crate) id: usize,
    pub(crate) function: Arc<dyn Fn() + Send + Sync>,
}

/// A graph that is built stream by stream.
#[derive(Default)]
pub(crate) struct Build {
    /// The bound streams. Element n is branch n.
    pub(crate) streams: Vec<BoundStream>,
    /// Present when the graph is complete.
    pub(crate) program: Option<Arc<Program<Task>>>,
}

/// A stream whose tasks become a branch of a graph.
pub(crate) struct BoundStream {
    pub(crate) stream: StreamKey,
    /// True if the branch starts with the run, and not when another branch activates it.
    pub(crate) is_head: bool,
    /// True if the branch takes no more tasks.
    pub(crate) is_ended: bool,
}

/// What the handle of a part of a graph refers to.
#[derive(Default)]
pub struct GraphPart {
    pub(crate) part: Mutex<Part>,
}

/// A part of a graph that has a handle.
#[derive(Debug, Clone, Default)]
pub(crate) enum Part {
    #[default]
    None,
    /// A position in a branch of a graph that is built.
    Label { is_set: bool },
    /// Labels that a switch selects from.
    LabelList(Vec<PartKey>),
    /// A stream of a graph.
    Branch(GraphKey, usize),
    /// A task of a graph.
    Entry(GraphKey, usize),
}

/// A step of a graph, with its branch.
pub(crate) struct Entry {
    pub(crate) branch: usize,
    pub(crate) step: Step,
}

/// What an entry does.
pub(crate) enum Step {
    Work(Arc<Node>),
    Record(EventKey),
    /// Waits for the record with this index.
    Wait {
        record: usize,
        event: Option<EventKey>,
    },
    /// Records an event that graphs share with outside streams.
    SetEvent(EventKey),
    /// Waits for an event that graphs share with outside streams.
    AwaitEvent(Arc<GraphEvent>),
    /// Waits for the record that an outside event has when the run is launched.
    AwaitRecord(EventKey),
    /// Resets an event that graphs share with outside streams.
    ResetEvent(Arc<GraphEvent>),
    /// Records, awaits and resets an event in a graph that is built.
    SetLocal(EventKey),
    AwaitLocal(EventKey),
    ResetLocal(EventKey),
    /// A position for switches.
    Label(PartKey),
    /// Starts another branch.
    Activate(usize),
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Step::Work(node) => node.name(),
            Step::Record(_) | Step::SetEvent(_) | Step::SetLocal(_) => "event record",
            Step::Wait { .. } | Step::AwaitEvent(_) | Step::AwaitRecord(_) | Step::AwaitLocal(_) => "event wait",
            Step::ResetEvent(_) | Step::ResetLocal(_) => "event reset",
            Step::Label(_) => "label",
            Step::Activate(_) => "stream activation",
        }
    }
}

/// A capture in progress.
pub(crate) struct Capture {
    pub(crate) thread: thread::ThreadId,
    /// The mode with which the capture began.
    pub(crate) mode: CaptureMode,
    /// The captured streams. Element n is branch n; the capture began on branch 0.
    pub(crate) streams: Vec<StreamKey>,
    /// True if the graph would lack a dependency that was refused.
    pub(crate) is_invalid: bool,
    /// The branch with an open task group, and the nodes of the group.
    pub(crate) group: Option<(usize, Vec<Arc<Node>>)>,
}

impl Capture {
    /// A capture that begins on a stream.
    pub(crate) fn new(thread: thread::ThreadId, mode: CaptureMode, stream: StreamKey) -> Capture {
        Capture { thread, mode, streams: vec![stream], is_invalid: false, group: None }
    }
}

/// What other calls must observe of a capture in progress.
pub(crate) struct ActiveCapture {
    pub(crate) graph: GraphKey,
    pub(crate) thread: thread::ThreadId,
    pub(crate) mode: CaptureMode,
    pub(crate) context: ContextKey,
}

/// A captured record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapturedRecord {
    pub(crate) graph: GraphKey,
    pub(crate) entry: usize,
    /// Value of `GraphState::failures` when it was captured.
    failures: usize,
}

/// Where the tasks of a stream go instead of its lane.
pub(crate) enum Redirect {
    Capture { graph: GraphKey, branch: usize },
    Update { group: GroupKey, contents: Vec<Arc<Content>> },
    Build { graph: GraphKey, branch: usize },
}

/// Captured tasks whose parameters an update can replace.
#[derive(Default)]
pub struct Group {
    pub(crate) state: Mutex<GroupState>,
}

#[derive(Default)]
pub(crate) struct GroupState {
    pub(crate) graph: Option<GraphKey>,
    pub(crate) nodes: Vec<Arc<Node>>,
}

/// The steps of a graph, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphDescription {
    pub id: u32,
    pub branches: usize,
    pub steps: Vec<StepDescription>,
}

/// One step of a graph, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepDescription {
    pub branch: usize,
    pub name: &'static str,
    /// The step that a wait inside the graph refers to.
    pub after: Option<usize>,
}

impl GraphState {
    /// The identity of a record that was just captured.
    pub(crate) fn captured(&self, graph: GraphKey, entry: usize) -> CapturedRecord {
        CapturedRecord { graph, entry, failures: self.failures }
    }

    /// True if a record is part of the capture in progress.
    pub(crate) fn is_capturing(&self, record: CapturedRecord) -> bool {
        self.capture.is_some() && self.failures == record.failures
    }

    /// Clears a sub-graph whose capture failed, so that it can be captured again.
    pub(crate) fn restart_capture(&mut self) {
        self.entries.clear();
        self.branches = 1;
        self.failures += 1;
    }

    /// True if everything in every branch comes before the end of branch 0.
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
                if let Step::Wait { record, .. } = entry.step {
                    open.push((self.entries[record].branch, record + 1));
                }
            }
        }
        let counts = |step: &Step| !matches!(step, Step::Record(_));
        !self.entries.iter().enumerate().any(|(at, entry)| counts(&entry.step) && at >= reached[entry.branch])
    }

    /// Describes the graph for display.
    pub(crate) fn describe(&self) -> GraphDescription {
        let describe = |entry: &Entry| StepDescription {
            branch: entry.branch,
            name: entry.step.name(),
            after: if let Step::Wait { record, .. } = entry.step { Some(record) } else { None },
        };
        GraphDescription { id: self.id, branches: self.branches, steps: self.entries.iter().map(describe).collect() }
    }

    /// All nodes, in capture order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        let captured = self.entries.iter().filter_map(|entry| match &entry.step {
            Step::Work(node) => Some(node),
            _ => None,
        });
        self.resets.iter().chain(captured)
    }

    /// The steps of a graph that was built.
    pub(crate) fn program(&self) -> Option<&Arc<Program<Task>>> {
        self.build.as_ref()?.program.as_ref()
    }

    /// Invalidates the steps that use freed memory.
    fn invalidate_range(&mut self, start: usize, len: usize) {
        self.pending.iter().for_each(|(_, content)| content.invalidate_range(start, len));
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
    pub(crate) parts: Slots<GraphPart, PartTag>,
    /// Number of captures that forbid blocking calls. Usually 0, so that a call costs one relaxed load.
    strict: AtomicU32,
    active: Mutex<Vec<ActiveCapture>>,
    /// Number of graphs, so that freeing memory costs nothing while there are none.
    count: AtomicU32,
    next_id: AtomicU32,
}

impl Graphs {
    /// Makes a handle of a part of a graph.
    pub(crate) fn insert_part(&self, part: Part) -> Result<PartKey> {
        let key = self.parts.insert(|slot, _| *lock(&slot.part) = part);
        key.ok_or_else(|| Box::new(Error::NoHandle("part of a graph")))
    }

    /// The part that a handle refers to. `None` if it is not live.
    pub(crate) fn part(&self, raw: usize) -> Option<(PartKey, Part)> {
        let key = PartKey::from_raw(raw)?;
        Some((key, lock(&self.parts.get(key)?.part).clone()))
    }

    /// Adds an empty graph. `None` if no handle is left.
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

    /// Removes a graph that is neither capturing nor running, and its groups.
    pub(crate) fn remove(&self, key: GraphKey) -> bool {
        let graph = self.all.slot(key);
        let ended = self.all.retire(key);
        if ended {
            let state = std::mem::take(&mut *lock(&graph.state));
            for group in state.groups {
                *lock(&self.groups.slot(group).state) = GroupState::default();
                self.groups.remove(group);
            }
            for part in state.branch_handles.into_iter().chain(state.entry_handles.into_values()) {
                self.parts.remove(part);
            }
            self.count.fetch_sub(1, Ordering::AcqRel);
            self.all.recycle(key);
        }
        ended
    }

    /// Registers a capture. Calls `registered` under the lock of the list.
    pub(crate) fn begin(&self, capture: ActiveCapture, registered: impl FnOnce()) {
        let mut active = lock(&self.active);
        if capture.mode != CaptureMode::Relaxed {
            self.strict.fetch_add(1, Ordering::AcqRel);
        }
        active.push(capture);
        registered();
    }

    /// Removes a capture. Calls `last` with its context if it was the last one there, under the lock of the list.
    pub(crate) fn end(&self, key: GraphKey, last: impl FnOnce(ContextKey)) {
        let mut active = lock(&self.active);
        let Some(at) = active.iter().position(|capture| capture.graph == key) else { return };
        let ended = active.swap_remove(at);
        if ended.mode != CaptureMode::Relaxed {
            self.strict.fetch_sub(1, Ordering::AcqRel);
        }
        if !active.iter().any(|other| other.context == ended.context) {
            last(ended.context);
        }
    }

    /// Returns `true` if a thread with this mode may make a blocking call.
    #[inline]
    pub(crate) fn allow_blocking(&self, mode: impl FnOnce() -> CaptureMode) -> bool {
        self.strict.load(Ordering::Relaxed) == 0 || self.allow_blocking_in(mode())
    }

    #[cold]
    fn allow_blocking_in(&self, mode: CaptureMode) -> bool {
        let this = thread::current().id();
        let active = lock(&self.active);
        let own = active.iter().any(|capture| capture.thread == this && capture.mode != CaptureMode::Relaxed);
        let any_global = active.iter().any(|capture| capture.mode == CaptureMode::Global);
        match mode {
            CaptureMode::Relaxed => true,
            CaptureMode::ThreadLocal => !own,
            CaptureMode::Global => !own && !any_global,
        }
    }

    /// Invalidates the steps of all graphs that use the `len` freed bytes with the backing address `start`.
    pub(crate) fn invalidate_range(&self, start: usize, len: usize) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        for (_, graph) in self.all.live() {
            lock(&graph.state).invalidate_range(start, len);
        }
    }
}

/// The error of a run that uses freed memory.
fn uses_freed_memory(id: u32, node: usize) -> Error {
    Error::Parameter(format!("graph {id} cannot run: task {node} names memory that was freed after the capture"))
}
