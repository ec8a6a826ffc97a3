//! One piece of captured work: a task that can be run again, and exchanged by an update.

use super::check_fits_sub_graph;
use crate::bytes::Span;
use crate::error::{Error, Result, fail};
use crate::executor::external_waits::ExternalWait;
use crate::host::{Delivery, HostCall};
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::{Task, TaskKind};
use std::sync::Arc;

/// A place in a graph.
#[derive(Debug)]
pub(crate) struct Node {
    content: Mutex<Arc<Content>>,
    /// In a task group: the content may change between launch and execution.
    is_updatable: bool,
}

/// What a node does.
#[derive(Debug)]
pub(crate) struct Content {
    task: Task,
    /// Memory that the task names was freed.
    is_gone: AtomicBool,
}

/// New contents for the nodes of a group.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) nodes: Vec<Arc<Node>>,
    pub(crate) contents: Vec<Arc<Content>>,
}

impl Node {
    pub(crate) fn new(content: Content) -> Node {
        Node { content: Mutex::new(Arc::new(content)), is_updatable: false }
    }

    /// The same, in a group. Nobody else knows the node yet.
    pub(crate) fn in_group(self: Arc<Self>) -> Arc<Node> {
        Arc::new(Node { content: Mutex::new(self.content()), is_updatable: true })
    }

    pub(crate) fn content(&self) -> Arc<Content> {
        Arc::clone(&lock(&self.content))
    }

    pub(crate) fn kind(&self) -> TaskKind {
        self.content().task.kind()
    }

    pub(crate) fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// What the node waits for, if it is a wait.
    pub(crate) fn vigil(&self) -> Option<Arc<ExternalWait>> {
        match &lock(&self.content).task {
            Task::Await(vigil) => Some(Arc::clone(vigil)),
            _ => None,
        }
    }

    /// A run that may have stood here is given up.
    pub(crate) fn cancel(&self) {
        if let Some(vigil) = self.vigil() {
            vigil.rearm();
        }
    }

    /// What to run now. Memory that was freed after the launch is still there, because the queued
    /// node kept it; but not that of an update, which came later.
    pub(crate) fn current(&self) -> Result<Arc<Content>> {
        let content = self.content();
        if self.is_updatable && content.is_invalidated() {
            let text = format!("the {} of an updated task group names memory that was freed", content.task.name());
            return fail(Error::DeviceCopy(text));
        }
        Ok(content)
    }
}

impl Content {
    /// Keeps a task, if it is one that can run again.
    pub(crate) fn new(task: Task) -> Result<Content> {
        // A batch can, and copying it only to see that would take memory.
        if !matches!(task, Task::Batch(_)) {
            try_clone_task(&task)?;
        }
        Ok(Content { task, is_gone: AtomicBool::new(false) })
    }

    /// Bytes that it moves.
    pub(crate) fn volume(&self) -> usize {
        self.task.volume()
    }

    /// The task, once more. It may borrow from the content, which must live until it is done.
    pub(crate) fn task(&self) -> Result<Task> {
        try_clone_task(&self.task)
    }

    /// Whether a sub-graph can hold it.
    pub(crate) fn check_fits_sub_graph(&self) -> Result<()> {
        check_fits_sub_graph(&self.task)
    }

    /// Looks at the task.
    pub(crate) fn with_task<T>(&self, look: impl FnOnce(&Task) -> T) -> T {
        look(&self.task)
    }

    pub(crate) fn into_task(self) -> Task {
        self.task
    }

    pub(crate) fn kind(&self) -> TaskKind {
        self.task.kind()
    }

    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.task.touches(start, len)
    }

    pub(crate) fn forget_memory(&self, start: usize, len: usize) {
        if self.touches(start, len) {
            self.is_gone.store(true, Ordering::Release);
        }
    }

    pub(crate) fn is_invalidated(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }
}

impl Update {
    /// Puts the new contents in force.
    pub(crate) fn apply(self) {
        for (node, content) in self.nodes.into_iter().zip(self.contents) {
            *lock(&node.content) = content;
        }
    }
}

/// The same task, for another run. An error when it can run only once, or there is no memory for its list.
fn try_clone_task(task: &Task) -> Result<Task> {
    Ok(match task {
        Task::Copy(span) => Task::Copy(*span),
        Task::Batch(batch) => Task::Batch(Box::new(batch.try_clone()?)),
        Task::Plane(plane) => Task::Plane(plane.clone()),
        // The buffer stays with the content.
        Task::Staged { buffer, target } => {
            Task::Copy(Span { target: *target, source: buffer.as_ptr() as usize, len: buffer.len() })
        }
        Task::Fill { target, byte, len } => Task::Fill { target: *target, byte: *byte, len: *len },
        Task::FillWords { target, word, count } => Task::FillWords { target: *target, word: *word, count: *count },
        Task::Reduce(reduction) => Task::Reduce(reduction.clone()),
        // Its value stays with the content.
        Task::Rearrange(rearranged) => Task::Rearrange(Box::new(rearranged.try_clone())),
        Task::Described { descriptor, form } => Task::Described { descriptor: *descriptor, form: *form },
        Task::Indirect(indirect) => Task::Indirect(indirect.clone()),
        // A callback to a subscribed thread is delivered once, which programs rely on.
        Task::Host(call) if call.delivery == Delivery::ContextThread => {
            Task::Host(Box::new(HostCall { function: Arc::clone(&call.function), delivery: call.delivery }))
        }
        Task::Condition(condition) => Task::Condition(Arc::clone(condition)),
        Task::WriteValue { target, value } => Task::WriteValue { target: *target, value: *value },
        Task::Await(vigil) => Task::Await(Arc::clone(vigil)),
        Task::Change { counter, change } => Task::Change { counter: Arc::clone(counter), change: *change },
        Task::CacheOperation => Task::CacheOperation,
        Task::Fail(error) => Task::Fail(error.clone()),
        _ => return fail(Error::Feature(format!("a {} cannot be captured", task.name()))),
    })
}
