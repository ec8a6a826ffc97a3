//! Signals: cells by which streams release each other without an event. A cell is a value in device memory or the number
//! of a notify. Observers receive every change and every wait, and decide themselves which change releases which wait.

use crate::notify::{Compare, Counter, CounterOp};
use crate::task::external_wait::{ExternalWait, ValueCondition, WaitCondition};
use crate::task::moves::Move;
use crate::task::{Control, Task, Waited};
use softacl_memory::{Memory, bytes};

/// What a task does to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Changes a cell.
    Change { cell: Cell, change: CellChange },
    /// Waits until a cell meets a condition. `clears` sets it to 0 when the stream passes.
    Wait { cell: Cell, test: CellTest, clears: bool },
    /// Waits for the next record of its event.
    NextRecord,
}

/// Identity of a cell, and what it contains when the task is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub id: CellId,
    /// `None` if the memory is not accessible.
    pub content: Option<u64>,
    /// Another process can change the cell. Not set for values: the memory of one may be shared.
    pub is_shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CellId {
    /// Program address of a value.
    Value(usize),
    /// Number of a notify, unique for the lifetime of the process.
    Notify(u64),
}

/// A change of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellChange {
    Write(u64),
    Count(CounterOp),
}

impl CellChange {
    /// The content after the change.
    pub fn apply(self, content: u64) -> u64 {
        match self {
            CellChange::Write(value) => value,
            CellChange::Count(change) => change.apply(content as u32).into(),
        }
    }
}

/// The condition of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellTest {
    Value(ValueCondition, u64),
    Count(Compare),
}

impl CellTest {
    pub fn holds(self, content: u64) -> bool {
        match self {
            CellTest::Value(condition, value) => condition.holds(content, value),
            CellTest::Count(compare) => compare.holds(content as u32),
        }
    }
}

/// The signal of a task.
pub(super) fn of(task: &Task, memory: &Memory) -> Option<Signal> {
    let value = |backing: usize| Cell {
        id: CellId::Value(memory.program_address(backing)),
        // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
        content: unsafe { bytes::read(backing) }.ok().map(u64::from_le_bytes),
        is_shared: false,
    };
    match task {
        Task::Move(Move::WriteValue { target, value: written }) => {
            Some(Signal::Change { cell: value(*target), change: CellChange::Write(*written) })
        }
        Task::Move(_) => None,
        Task::Control(Control::Change { counter, change }) => {
            Some(Signal::Change { cell: notify(counter), change: CellChange::Count(*change) })
        }
        Task::Control(Control::Await(wait)) => of_wait(wait, &value),
        Task::Control(Control::Wait(wait)) => matches!(wait.after, Waited::Next(_)).then_some(Signal::NextRecord),
        Task::Control(Control::Node { node, .. }) => node.current().ok()?.with_task(|task| of(task, memory)),
        Task::Control(_) => None,
    }
}

fn notify(counter: &Counter) -> Cell {
    Cell { id: CellId::Notify(counter.id), content: Some(counter.value().into()), is_shared: counter.is_shared() }
}

fn of_wait(wait: &ExternalWait, value: &dyn Fn(usize) -> Cell) -> Option<Signal> {
    match &wait.condition {
        WaitCondition::Value { backing, value: wanted, condition } => {
            Some(Signal::Wait { cell: value(*backing), test: CellTest::Value(*condition, *wanted), clears: false })
        }
        WaitCondition::Notify { counter, compare, clears } => {
            Some(Signal::Wait { cell: notify(counter), test: CellTest::Count(*compare), clears: *clears })
        }
        _ => None,
    }
}
