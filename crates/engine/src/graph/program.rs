//! Programs: graphs that were built stream by stream, whose streams activate each other and jump to labels.
//!
//! What runs next is known only when a step that decides it has run. A run therefore queues the steps of a branch up to
//! the next such step, which queues what follows. `flow` does that; this file is the data.

use crate::graph::node::{Node, Repeatable};
use crate::graph::run::GraphRun;
use crate::keys::{ContextKey, EventKey, GraphEvent, PartKey, StreamKey, StreamPoint};
use softacl_sync::facade::{Mutex, lock};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The steps of a built graph, branch by branch.
#[derive(Debug)]
pub(crate) struct Program<T> {
    pub(crate) branches: Vec<Vec<ProgramStep<T>>>,
    /// Branches that start with the run. The others are activated.
    pub(crate) heads: Vec<usize>,
    /// Position behind each label: its branch and the index of the next step there.
    pub(crate) labels: HashMap<PartKey, (usize, usize)>,
}

/// A step of a built graph.
#[derive(Debug)]
pub(crate) enum ProgramStep<T> {
    Work(Arc<Node<T>>),
    /// A switch between labels or streams.
    Decision(Arc<Node<T>>),
    /// Starts another branch.
    Activate(usize),
    /// Records, awaits and resets an event for the branches of one run.
    SetLocal(EventKey),
    AwaitLocal(EventKey),
    ResetLocal(EventKey),
    /// Records, awaits and resets an event that streams outside the graph use too.
    SetEvent(EventKey),
    AwaitRecord(EventKey),
    AwaitEvent(Arc<GraphEvent>),
    ResetEvent(Arc<GraphEvent>),
}

/// One run of a program.
#[derive(Debug)]
pub(crate) struct Flow<T> {
    pub(crate) program: Arc<Program<T>>,
    pub(crate) run: Arc<GraphRun>,
    pub(crate) context: ContextKey,
    /// Receives a point when the last branch has ended.
    pub(crate) finished: Arc<OnceLock<StreamPoint>>,
    pub(crate) state: Mutex<FlowState>,
}

/// How far a run has come.
#[derive(Debug, Default)]
pub(crate) struct FlowState {
    pub(crate) branches: Vec<BranchState>,
    pub(crate) events: HashMap<EventKey, LocalEvent>,
}

/// How far a branch has come.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct BranchState {
    pub(crate) is_active: bool,
    /// True if the branch was activated while it was active: it starts again when it ends.
    pub(crate) restarts: bool,
    /// The newest task of the branch.
    pub(crate) newest: Option<StreamPoint>,
}

/// An event inside a run.
#[derive(Debug, Default)]
pub(crate) struct LocalEvent {
    pub(crate) record: Option<StreamPoint>,
    /// Points of waits for the next record, and the cells that receive it.
    pub(crate) waits: Vec<(StreamPoint, Arc<OnceLock<StreamPoint>>)>,
}

/// A task that decides what a run does next.
#[derive(Debug)]
pub(crate) struct FlowTask<T> {
    pub(crate) flow: Arc<Flow<T>>,
    pub(crate) turn: FlowTurn,
}

/// What a flow task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowTurn {
    /// Starts the branches that start with the run.
    Start,
    /// Executes the step `at` of a branch and queues what follows.
    Decide { branch: usize, at: usize },
    /// Ends a branch.
    End { branch: usize },
}

impl<T> Flow<T> {
    /// The stream on which the run starts and ends. It belongs to no branch.
    pub(crate) fn starter(&self) -> StreamKey {
        *self.run.streams().last().expect("a built graph has a stream that starts it")
    }

    /// The stream of a branch.
    pub(crate) fn stream(&self, branch: usize) -> StreamKey {
        self.run.streams()[branch]
    }

    /// Marks a branch as active. Returns `false` if it is active already; it then starts again when it ends.
    pub(crate) fn activate(&self, branch: usize) -> bool {
        let state = &mut lock(&self.state).branches[branch];
        state.restarts = state.is_active;
        !std::mem::replace(&mut state.is_active, true)
    }

    /// Ends a branch. Returns whether it starts again, and whether it was the last one.
    pub(crate) fn end(&self, branch: usize) -> (bool, bool) {
        let mut state = lock(&self.state);
        let own = &mut state.branches[branch];
        if std::mem::take(&mut own.restarts) {
            return (true, false);
        }
        own.is_active = false;
        (false, !state.branches.iter().any(|branch| branch.is_active))
    }
}

impl<T: Repeatable> Flow<T> {
    /// True if a step that may still be queued uses one of the `len` bytes with the backing address `start`.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.program.branches.iter().flatten().any(|step| match step {
            ProgramStep::Work(node) | ProgramStep::Decision(node) => node.content().touches(start, len),
            _ => false,
        })
    }
}

impl<T> FlowTask<T> {
    /// The step that the task executes, if it is a switch.
    pub(crate) fn decision(&self) -> Option<&Arc<Node<T>>> {
        let FlowTurn::Decide { branch, at } = self.turn else { return None };
        match &self.flow.program.branches[branch][at] {
            ProgramStep::Decision(node) => Some(node),
            _ => None,
        }
    }
}

/// A jump to one of several labels, by an index in device memory.
#[derive(Debug)]
pub(crate) struct LabelSwitch {
    /// Backing address of the index, a `u32`.
    pub(crate) cell: usize,
    /// Number of labels that the index selects from. A larger index selects the last of them.
    pub(crate) count: u32,
    pub(crate) labels: Vec<PartKey>,
}

/// A jump to another branch, by a comparison of two values in device memory.
#[derive(Debug)]
pub(crate) struct StreamSwitch {
    /// Backing addresses of the two values.
    pub(crate) cells: [usize; 2],
    pub(crate) comparison: Comparison,
    /// True for values of 8 bytes, false for values of 4.
    pub(crate) is_wide: bool,
    /// The branches for `true` and `false`. `None` continues with the current branch.
    pub(crate) targets: [Option<usize>; 2],
}

/// Comparison of two signed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Comparison {
    pub(crate) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
        }
    }
}

impl LabelSwitch {
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.cell < start + len && start < self.cell + size_of::<u32>()
    }
}

impl StreamSwitch {
    /// Size of a value, in bytes.
    pub(crate) fn width(&self) -> usize {
        if self.is_wide { size_of::<i64>() } else { size_of::<i32>() }
    }

    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.cells.iter().any(|cell| *cell < start + len && start < cell + self.width())
    }
}
