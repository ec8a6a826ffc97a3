//! Conditions: a value in device memory that decides which sub-graph runs, if any.
//!
//! A sub-graph is run step by step by whoever runs the conditional task, in the order of its capture,
//! which is one of the orders that its events allow. So it holds only work that moves bytes.

use super::{GraphKey, Node};
use crate::bytes::{self, Fault};
use crate::error::{Error, Result, fail};
use crate::handle::{Key, Kind};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::sync::{Mutex, Ordering, lock};
use crate::task::Task;
use std::sync::Arc;

pub type ConditionKey = Key<ConditionCell>;

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

impl Kind for ConditionCell {
    const NUMBER: u8 = 13;
}

/// A conditional task.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) kind: ConditionKind,
    /// Where the engine reaches the value.
    pub(crate) cell: usize,
    pub(crate) bodies: Vec<Arc<Body>>,
}

/// The steps of a sub-graph; empty until it has been captured.
#[derive(Debug, Default)]
pub(crate) struct Body {
    nodes: Mutex<Vec<Arc<Node>>>,
}

impl Body {
    pub(crate) fn fill(&self, nodes: Vec<Arc<Node>>) {
        *lock(&self.nodes) = nodes;
    }

    fn nodes(&self) -> Vec<Arc<Node>> {
        lock(&self.nodes).clone()
    }
}

/// Bytes of a value.
pub(crate) const CELL: usize = 8;

impl Condition {
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let cell = self.cell < start + len && start < self.cell + CELL;
        cell || self.bodies.iter().any(|body| body.nodes().iter().any(|node| node.content().touches(start, len)))
    }

    /// The sub-graph to run now.
    fn choose(&self) -> Result<Option<&Arc<Body>>> {
        let gone = |Fault| Error::Inaccessible { side: "condition", address: self.cell, len: CELL };
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

impl Machine {
    pub(crate) fn run_condition(&self, stream: &Stream, condition: &Condition, run: &super::Run) -> Result<()> {
        let over = || run.is_cancelled.load(Ordering::Acquire) || self.is_stopped(stream);
        while let Some(body) = condition.choose()? {
            for node in body.nodes() {
                if over() {
                    return Ok(());
                }
                let content = node.current()?;
                match content.task()? {
                    Task::Condition(inner) => self.run_condition(stream, &inner, run)?,
                    task => {
                        let volume = task.volume();
                        self.move_bytes(task, volume)?;
                    }
                }
            }
            if condition.kind != ConditionKind::While || over() {
                return Ok(());
            }
            // The value may come from another stream, which a schedule runs only when asked.
            self.step();
        }
        Ok(())
    }
}

/// Refuses a task that a sub-graph cannot hold.
pub(crate) fn check_fits_sub_graph(task: &Task) -> Result<()> {
    match task {
        Task::Host(_) | Task::Await(_) | Task::Change { .. } | Task::Doomed(_) => {
            fail(Error::Feature(format!("a {} cannot be part of a sub-graph", task.name())))
        }
        _ => Ok(()),
    }
}
