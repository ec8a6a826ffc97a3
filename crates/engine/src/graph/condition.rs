//! Conditions: a value in device memory that decides which sub-graph runs, if any.
//!
//! A sub-graph is run step by step by whoever runs the conditional task, in the order of its capture,
//! which is one of the orders that its events allow. So it holds only work that moves bytes.
//!
//! The value of a loop may come from another stream, or from a call that the program has yet to make. So a loop that goes on gives its
//! thread up from time to time: what it has come to is kept in a [`ConditionProgress`], which is queued again as a task.

use crate::graph::node::{Node, Repeatable};
use crate::graph::run::GraphRun;
use crate::keys::GraphKey;
use crate::task::external_wait::{ExternalWait, WaitCondition};
use softacl_errors::{Error, Result};
use softacl_memory::bytes::{self, AccessFault};
use softacl_sync::facade::{Mutex, lock};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionKind {
    /// The first sub-graph when the value is not 0, else the second, if there is one.
    If,
    /// The sub-graph as long as the value is not 0.
    While,
    /// The sub-graph with the number that the value is.
    Switch,
}

/// A value for conditional tasks.
#[derive(Default)]
pub struct ConditionCell {
    pub(crate) state: Mutex<CellState>,
}

#[derive(Default)]
pub(crate) struct CellState {
    pub(crate) graph: Option<GraphKey>,
    /// Address of the value, as the program sees it.
    pub(crate) address: usize,
}

/// A conditional task.
#[derive(Debug)]
pub(crate) struct Condition<T> {
    pub(crate) kind: ConditionKind,
    /// Where the engine reaches the value.
    pub(crate) cell: usize,
    pub(crate) bodies: Vec<Arc<SubGraph<T>>>,
}

/// The steps of a sub-graph; empty until it has been captured.
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
    pub(crate) fn fill(&self, nodes: Vec<Arc<Node<T>>>) {
        *lock(&self.nodes) = nodes;
    }

    fn nodes(&self) -> Vec<Arc<Node<T>>> {
        lock(&self.nodes).clone()
    }
}

/// Bytes of a value.
pub(crate) const CELL_SIZE: usize = 8;
/// Turns of loops before others have theirs: more than loops of programs take that wait for nobody.
pub(crate) const ITERATIONS_PER_TURN: usize = 1024;
/// How long a loop then pauses, at least.
const PAUSE: Duration = Duration::from_micros(100);

impl<T: Repeatable> Condition<T> {
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let cell = self.cell < start + len && start < self.cell + CELL_SIZE;
        cell || self.bodies.iter().any(|body| body.nodes().iter().any(|node| node.content().touches(start, len)))
    }

    /// The sub-graph to run now.
    fn choose(&self) -> Result<Option<&Arc<SubGraph<T>>>> {
        let gone = |AccessFault| Error::Inaccessible { side: "condition", address: self.cell, len: CELL_SIZE };
        let value = u64::from_le_bytes(bytes::read(self.cell).map_err(gone)?);
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
    /// Conditional tasks that have begun, each but the first one in the sub-graph of the one before.
    pub(crate) frames: Vec<Frame<T>>,
    /// Until when others have their turn.
    pub(crate) pause: Arc<ExternalWait>,
}

#[derive(Debug)]
pub(crate) struct Frame<T> {
    pub(crate) condition: Arc<Condition<T>>,
    /// What is left of the chosen sub-graph.
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

    /// Begins a conditional task, or the next turn of a loop.
    pub(crate) fn enter(&mut self, condition: Arc<Condition<T>>) -> Result<()> {
        if let Some(body) = condition.choose()? {
            let steps = body.nodes().into_iter();
            self.frames.push(Frame { condition, steps });
        }
        Ok(())
    }

    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.frames.iter().any(|frame| frame.condition.touches(start, len))
    }
}
