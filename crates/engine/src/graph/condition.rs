//! Conditions: a value in device memory that decides which sub-graph runs, if any.
//!
//! The thread that runs the conditional task runs the sub-graph step by step, in the order of its capture, which is one
//! of the orders that its events allow. A sub-graph therefore contains only tasks that move bytes.
//!
//! The value of a loop may come from another stream, or from a call that the program has yet to make. A long loop
//! therefore yields its thread from time to time. Its progress is kept in a [`ConditionProgress`], which is queued
//! again as a task.

use crate::graph::node::{Node, Repeatable};
use crate::graph::run::GraphRun;
use crate::keys::GraphKey;
use crate::task::external_wait::{ExternalWait, WaitCondition};
use softacl_errors::{Error, Result};
use softacl_memory::bytes::{self, AccessFault};
use softacl_sync::facade::{Mutex, lock};
use std::sync::Arc;
use std::time::Duration;

/// How the value selects a sub-graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionKind {
    /// The first sub-graph if the value is not 0, otherwise the second, if present.
    If,
    /// The sub-graph, repeated while the value is not 0.
    While,
    /// The sub-graph whose index is the value.
    Switch,
}

/// A value that conditional tasks test.
#[derive(Default)]
pub struct ConditionCell {
    pub(crate) state: Mutex<CellState>,
}

#[derive(Default)]
pub(crate) struct CellState {
    pub(crate) graph: Option<GraphKey>,
    /// Program address of the value.
    pub(crate) address: usize,
}

/// A conditional task.
#[derive(Debug)]
pub(crate) struct Condition<T> {
    pub(crate) kind: ConditionKind,
    /// Backing address of the value.
    pub(crate) cell: usize,
    pub(crate) bodies: Vec<Arc<SubGraph<T>>>,
}

/// The steps of a sub-graph. Empty until it is captured.
#[derive(Debug)]
pub(crate) struct SubGraph<T> {
    nodes: Mutex<Vec<Arc<Node<T>>>>,
}

impl<T> Default for SubGraph<T> {
    fn default() -> Self {
        SubGraph { nodes: Mutex::new(Vec::new()) }
    }
}

impl<T> SubGraph<T> {
    /// Sets the steps after a successful capture.
    pub(crate) fn fill(&self, nodes: Vec<Arc<Node<T>>>) {
        *lock(&self.nodes) = nodes;
    }

    fn nodes(&self) -> Vec<Arc<Node<T>>> {
        lock(&self.nodes).clone()
    }
}

/// Size of a value, in bytes.
pub(crate) const CELL_SIZE: usize = 8;
/// Iterations of a loop before it yields: more than loops take that wait for nothing outside.
pub(crate) const ITERATIONS_PER_TURN: usize = 1024;
/// Minimum pause of a loop that has yielded.
const PAUSE: Duration = Duration::from_micros(100);

impl<T: Repeatable> Condition<T> {
    /// True if the value or a sub-graph uses one of the `len` bytes with the backing address `start`.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let cell = self.cell < start + len && start < self.cell + CELL_SIZE;
        cell || self.bodies.iter().any(|body| body.nodes().iter().any(|node| node.content().touches(start, len)))
    }

    /// The sub-graph that the current value selects.
    fn choose(&self) -> Result<Option<&Arc<SubGraph<T>>>> {
        let inaccessible = |AccessFault| Error::Inaccessible { side: "condition", address: self.cell, len: CELL_SIZE };
        // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
        let value = u64::from_le_bytes(unsafe { bytes::read(self.cell) }.map_err(inaccessible)?);
        let index = match (self.kind, value) {
            (ConditionKind::If, 0) => 1,
            (ConditionKind::If, _) => 0,
            (ConditionKind::While, 0) => return Ok(None),
            (ConditionKind::While, _) => 0,
            (ConditionKind::Switch, value) => usize::try_from(value).unwrap_or(usize::MAX),
        };
        Ok(self.bodies.get(index))
    }
}

/// How far a conditional task of a run has come.
#[derive(Debug)]
pub(crate) struct ConditionProgress<T> {
    pub(crate) node: Arc<Node<T>>,
    pub(crate) run: Arc<GraphRun>,
    /// Conditional tasks that have started. Each but the first is in the sub-graph of the one before.
    pub(crate) frames: Vec<Frame<T>>,
    /// The pause of a loop that has yielded.
    pub(crate) pause: Arc<ExternalWait>,
}

/// One nesting level of a conditional task.
#[derive(Debug)]
pub(crate) struct Frame<T> {
    pub(crate) condition: Arc<Condition<T>>,
    /// Remaining steps of the selected sub-graph.
    pub(crate) steps: std::vec::IntoIter<Arc<Node<T>>>,
}

impl<T: Repeatable> ConditionProgress<T> {
    pub(crate) fn new(condition: Arc<Condition<T>>, node: &Arc<Node<T>>, run: &Arc<GraphRun>) -> Result<Self> {
        let mut progress = ConditionProgress {
            node: Arc::clone(node),
            run: Arc::clone(run),
            frames: Vec::new(),
            pause: Arc::new(ExternalWait::new(WaitCondition::Delay).within(Some(PAUSE))),
        };
        progress.enter(condition)?;
        Ok(progress)
    }

    /// Starts a conditional task, or the next iteration of a loop.
    pub(crate) fn enter(&mut self, condition: Arc<Condition<T>>) -> Result<()> {
        if let Some(body) = condition.choose()? {
            let steps = body.nodes().into_iter();
            self.frames.push(Frame { condition, steps });
        }
        Ok(())
    }

    /// True if a started conditional task uses one of the `len` bytes with the backing address `start`.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.frames.iter().any(|frame| frame.condition.touches(start, len))
    }
}
