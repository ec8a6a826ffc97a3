//! Conditions: a value in device memory that decides which sub-graph runs, if any.
//!
//! A sub-graph is run step by step by whoever runs the conditional task, in the order of its capture,
//! which is one of the orders that its events allow. So it holds only work that moves bytes.
//!
//! The value of a loop may come from another stream, or from a call that the program has yet to make. So a loop that goes on gives its
//! thread up from time to time: what it has come to is kept in a `Course`, which is queued again as a task.

use super::{GraphRun, Node};
use crate::executor::external_waits::{ExternalWait, WaitCondition};
use crate::keys::GraphKey;
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::Task;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{self, AccessFault};
use softacl_sync::facade::{Mutex, Ordering, lock};
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
pub(crate) struct Condition {
    pub(crate) kind: ConditionKind,
    /// Where the engine reaches the value.
    pub(crate) cell: usize,
    pub(crate) bodies: Vec<Arc<SubGraph>>,
}

/// The steps of a sub-graph; empty until it has been captured.
#[derive(Debug, Default)]
pub(crate) struct SubGraph {
    nodes: Mutex<Vec<Arc<Node>>>,
}

impl SubGraph {
    pub(crate) fn fill(&self, nodes: Vec<Arc<Node>>) {
        *lock(&self.nodes) = nodes;
    }

    fn nodes(&self) -> Vec<Arc<Node>> {
        lock(&self.nodes).clone()
    }
}

/// Bytes of a value.
pub(crate) const CELL: usize = 8;
/// Turns of loops before others have theirs: more than loops of programs take that wait for nobody.
const TURNS: usize = 1024;
/// How long a loop then pauses, at least.
const PAUSE: Duration = Duration::from_micros(100);

impl Condition {
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let cell = self.cell < start + len && start < self.cell + CELL;
        cell || self.bodies.iter().any(|body| body.nodes().iter().any(|node| node.content().touches(start, len)))
    }

    /// The sub-graph to run now.
    fn choose(&self) -> Result<Option<&Arc<SubGraph>>> {
        let gone = |AccessFault| Error::Inaccessible { side: "condition", address: self.cell, len: CELL };
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
pub(crate) struct ConditionProgress {
    pub(crate) node: Arc<Node>,
    pub(crate) run: Arc<GraphRun>,
    /// Conditional tasks that have begun, each but the first one in the sub-graph of the one before.
    levels: Vec<Frame>,
    /// Until when others have their turn.
    pub(crate) pause: Arc<ExternalWait>,
}

#[derive(Debug)]
struct Frame {
    condition: Arc<Condition>,
    /// What is left of the chosen sub-graph.
    steps: std::vec::IntoIter<Arc<Node>>,
}

impl ConditionProgress {
    pub(crate) fn new(condition: Arc<Condition>, node: &Arc<Node>, run: &Arc<GraphRun>) -> Result<ConditionProgress> {
        let mut course = ConditionProgress {
            node: Arc::clone(node),
            run: Arc::clone(run),
            levels: Vec::new(),
            pause: Arc::new(ExternalWait::new(WaitCondition::Delay).within(Some(PAUSE))),
        };
        course.enter(condition)?;
        Ok(course)
    }

    /// Begins a conditional task, or the next turn of a loop.
    fn enter(&mut self, condition: Arc<Condition>) -> Result<()> {
        if let Some(body) = condition.choose()? {
            let steps = body.nodes().into_iter();
            self.levels.push(Frame { condition, steps });
        }
        Ok(())
    }

    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.levels.iter().any(|level| level.condition.touches(start, len))
    }
}

impl Machine {
    /// Goes on with a conditional task. `false`: it is not over, and others should have their turn.
    pub(crate) fn advance_condition(&self, stream: &Stream, course: &mut ConditionProgress) -> Result<bool> {
        let mut turns = 0;
        while let Some(level) = course.levels.last_mut() {
            if course.run.is_cancelled.load(Ordering::Acquire) || self.is_stopped(stream) {
                return Ok(true);
            }
            if let Some(node) = level.steps.next() {
                let content = node.current()?;
                match content.task()? {
                    Task::Condition(inner) => course.enter(inner)?,
                    task => {
                        let volume = task.volume();
                        self.move_bytes(task, volume)?;
                    }
                }
                continue;
            }
            if level.condition.kind == ConditionKind::While {
                if turns == TURNS {
                    return Ok(false);
                }
                turns += 1;
                // The value may come from another stream, which a schedule runs only when asked.
                self.step();
            }
            let Some(Frame { condition, .. }) = course.levels.pop() else { break };
            if condition.kind == ConditionKind::While {
                course.enter(condition)?;
            }
        }
        Ok(true)
    }
}

/// Refuses a task that a sub-graph cannot hold.
pub(crate) fn check_fits_sub_graph(task: &Task) -> Result<()> {
    match task {
        Task::Host(_) | Task::Await(_) | Task::Change { .. } | Task::Fail(_) => {
            fail(Error::Feature(format!("a {} cannot be part of a sub-graph", task.name())))
        }
        _ => Ok(()),
    }
}
