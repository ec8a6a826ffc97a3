//! Nodes: captured tasks that can run again, and that an update can replace.

use crate::task::external_wait::ExternalWait;
use crate::task::kind::TaskKind;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{AtomicBool, Mutex, Ordering, lock};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Work that a graph can run any number of times.
pub(crate) trait Repeatable: Sized {
    /// Copies the work for another run. The copy may borrow from the original, which must outlive it. Fails if the work
    /// can run only once, or if there is no memory for its list.
    fn try_clone(&self) -> Result<Self>;
    /// Fails if `try_clone` would fail for a reason other than memory.
    fn check_repeatable(&self) -> Result<()>;
    /// Kind of the work. Work of one kind can replace each other in an update.
    fn kind(&self) -> TaskKind;
    /// True if the work accesses one of the `len` bytes with the backing address `start`.
    fn touches(&self, start: usize, len: usize) -> bool;
    /// Bytes that a copy moves; 0 for everything else.
    fn volume(&self) -> usize;
    /// The external wait that the work is, if it is one.
    fn external_wait(&self) -> Option<&Arc<ExternalWait>>;
}

/// A position in a graph, with its current content.
#[derive(Debug)]
pub(crate) struct Node<T> {
    content: Mutex<Arc<Content<T>>>,
    /// True in a task group: the content may change between launch and execution.
    is_updatable: bool,
    /// Number of the captured call, for observers. No other node has it.
    number: u64,
}

/// The task of a node.
#[derive(Debug)]
pub(crate) struct Content<T> {
    task: T,
    /// True if memory that the task uses was freed.
    is_invalidated: AtomicBool,
}

/// New contents for the nodes of a group.
#[derive(Debug)]
pub(crate) struct Update<T> {
    pub(crate) nodes: Vec<Arc<Node<T>>>,
    pub(crate) contents: Vec<Arc<Content<T>>>,
}

impl<T: Repeatable> Node<T> {
    pub(crate) fn new(content: Content<T>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Node { content: Mutex::new(Arc::new(content)), is_updatable: false, number }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the node as a member of a task group. Called before the node is published.
    pub(crate) fn in_group(self: Arc<Self>) -> Arc<Self> {
        Arc::new(Node { content: Mutex::new(self.content()), is_updatable: true, number: self.number })
    }

    pub(crate) fn content(&self) -> Arc<Content<T>> {
        Arc::clone(&lock(&self.content))
    }

    /// Replaces the content.
    pub(crate) fn replace(&self, content: Arc<Content<T>>) {
        *lock(&self.content) = content;
    }

    pub(crate) fn kind(&self) -> TaskKind {
        self.content().task.kind()
    }

    pub(crate) fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The external wait of this node, if it is one.
    pub(crate) fn external_wait(&self) -> Option<Arc<ExternalWait>> {
        lock(&self.content).task.external_wait().map(Arc::clone)
    }

    /// Resets the node after a run that may have waited here was canceled.
    pub(crate) fn cancel(&self) {
        if let Some(wait) = self.external_wait() {
            wait.rearm();
        }
    }

    /// The content to execute. Memory that was freed after the launch is still usable, because the queued node kept it
    /// in quarantine. Memory of an update that came later is not, so this fails.
    pub(crate) fn current(&self) -> Result<Arc<Content<T>>> {
        let content = self.content();
        if self.is_updatable && content.is_invalidated() {
            let text = format!("the {} of an updated task group names memory that was freed", content.kind().name());
            return fail(Error::DeviceCopy(text));
        }
        Ok(content)
    }
}

impl<T: Repeatable> Content<T> {
    /// Wraps a task. Fails if the task cannot run again.
    pub(crate) fn new(task: T) -> Result<Self> {
        task.check_repeatable()?;
        Ok(Content { task, is_invalidated: AtomicBool::new(false) })
    }

    /// Bytes that the task moves.
    pub(crate) fn volume(&self) -> usize {
        self.task.volume()
    }

    /// Copies the task. The copy may borrow from the content, which must outlive it.
    pub(crate) fn task(&self) -> Result<T> {
        self.task.try_clone()
    }

    /// Calls a function with the task.
    pub(crate) fn with_task<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.task)
    }

    pub(crate) fn into_task(self) -> T {
        self.task
    }

    pub(crate) fn kind(&self) -> TaskKind {
        self.task.kind()
    }

    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.task.touches(start, len)
    }

    /// Marks the content as invalid if it uses one of the `len` freed bytes with the backing address `start`.
    pub(crate) fn invalidate_range(&self, start: usize, len: usize) {
        if self.touches(start, len) {
            self.is_invalidated.store(true, Ordering::Release);
        }
    }

    pub(crate) fn is_invalidated(&self) -> bool {
        self.is_invalidated.load(Ordering::Acquire)
    }
}

impl<T: Repeatable> Update<T> {
    /// True if one of the new contents accesses these bytes.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.contents.iter().any(|content| content.touches(start, len))
    }

    /// Replaces the contents of the nodes.
    pub(crate) fn apply(self) {
        for (node, content) in self.nodes.into_iter().zip(self.contents) {
            node.replace(content);
        }
    }
}
