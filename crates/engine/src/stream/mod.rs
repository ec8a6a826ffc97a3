//! Streams: a queue of tasks with an identity, a completion and a memory of its first failure.
//!
//! A stream's slot outlives the stream and its numbering goes on in the next one, so "task 17 of
//! this slot" is a fact that stays true: once finished, finished for ever.
//!
//! Who may touch what: identity is written while the slot is taken and before the handle is known
//! to anyone; the track looks after itself.

pub(crate) mod calls;

use crate::graph::Redirect;
use crate::keys::{ContextKey, GraphKey, GroupKey, StreamKey};
use crate::task::{Content, Task};
use softacl_errors::Error;
use softacl_memory::Hints;
use softacl_sync::facade::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use softacl_sync::failure::FirstFailure;
use softacl_sync::shared_lane::SharedLane;
use std::sync::Arc;

/// How a stream was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    pub priority: u32,
    pub flags: u32,
}

/// Streams with one of these flags are not waited for: persistent, CPU-scheduled, device-only.
const NOT_SYNCHRONIZED: u32 = 0x4 | 0x10 | 0x20;

/// Aligned, so that the fields that every submit touches share as few lines as possible.
#[derive(Default)]
#[repr(align(64))]
pub struct Stream {
    pub(crate) tasks: SharedLane<Task, StreamKey>,
    /// The number of the newest task, for those who must not take the lane's lock.
    newest: AtomicU64,
    context: AtomicUsize,
    device: AtomicU32,
    priority: AtomicU32,
    flags: AtomicU32,
    /// Whether tasks go somewhere else than to the lane; where is in `diversion`.
    is_redirected: AtomicBool,
    redirect: Mutex<Option<Redirect>>,
    /// Whether a host function holds the claim, which touches no memory of ours.
    pub(crate) is_held: AtomicBool,
    /// What the thread that submitted last had submitted since anybody waited, on all streams: it decides
    /// whether copies bypass the cache.
    pub(crate) volume: AtomicUsize,
    /// Where copies of this stream last found their memory.
    pub(crate) hints: Hints,
    /// Whether the stream stands in the machine's list of busy streams. Under the lane's lock.
    pub(crate) is_in_busy_list: AtomicBool,
    /// Polls in a row that found the stream busy; see the stepped driver.
    pub(crate) polls: AtomicU32,
    failure: FirstFailure<Error>,
    pub(crate) settings: Mutex<StreamSettings>,
}

/// Attributes that the interface lets programs set and read back.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamSettings {
    pub overflow_check: u32,
    pub custom_tag: u32,
    pub cache_op_info: u32,
    /// Cube and vector cores that the program wants used at most.
    pub core_limits: [Option<u32>; 2],
    /// Whether host functions were launched, which excludes subscribed callbacks.
    pub(crate) host_functions: bool,
}

impl Stream {
    /// Gives the slot a new identity. Called while it is being taken.
    pub(crate) fn open(&self, context: ContextKey, device: u32, options: StreamOptions) {
        self.context.store(context.raw(), Ordering::Relaxed);
        self.device.store(device, Ordering::Relaxed);
        self.priority.store(options.priority, Ordering::Relaxed);
        self.flags.store(options.flags, Ordering::Relaxed);
        self.is_redirected.store(false, Ordering::Relaxed);
        *lock(&self.redirect) = None;
        self.failure.clear();
        *lock(&self.settings) = StreamSettings::default();
    }

    #[inline]
    pub(crate) fn context(&self) -> Option<ContextKey> {
        ContextKey::from_raw(self.context.load(Ordering::Relaxed))
    }

    pub(crate) fn device(&self) -> u32 {
        self.device.load(Ordering::Relaxed)
    }

    pub(crate) fn options(&self) -> StreamOptions {
        StreamOptions { priority: self.priority.load(Ordering::Relaxed), flags: self.flags.load(Ordering::Relaxed) }
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & NOT_SYNCHRONIZED == 0
    }

    /// The number of the newest task.
    #[inline]
    pub(crate) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Announces a task's number; under the lane's lock, before the task can touch anything.
    #[inline]
    pub(crate) fn set_newest(&self, sequence: u64) {
        self.newest.store(sequence, Ordering::Release);
    }

    /// Whether the stream captures, or updates a graph.
    #[inline]
    pub(crate) fn is_redirected(&self) -> bool {
        self.is_redirected.load(Ordering::Relaxed)
    }

    pub(crate) fn redirect(&self, redirect: Redirect) {
        *lock(&self.redirect) = Some(redirect);
        self.is_redirected.store(true, Ordering::Relaxed);
    }

    /// The graph and branch that the stream is captured into.
    pub(crate) fn capture(&self) -> Option<(GraphKey, usize)> {
        if !self.is_redirected() {
            return None;
        }
        match *lock(&self.redirect) {
            Some(Redirect::Capture { graph, branch }) => Some((graph, branch)),
            _ => None,
        }
    }

    /// Leaves the capture of a graph.
    pub(crate) fn stop_redirect(&self, key: GraphKey) {
        let mut redirect = lock(&self.redirect);
        if matches!(*redirect, Some(Redirect::Capture { graph, .. }) if graph == key) {
            *redirect = None;
            self.is_redirected.store(false, Ordering::Relaxed);
        }
    }

    /// Adds a content to the update that the stream is in.
    pub(crate) fn add_update_content(
        &self,
        content: impl FnOnce() -> Arc<Content>,
    ) -> Option<(GroupKey, Arc<Content>)> {
        match &mut *lock(&self.redirect) {
            Some(Redirect::Update { group, contents }) => {
                let content = content();
                contents.push(Arc::clone(&content));
                Some((*group, content))
            }
            _ => None,
        }
    }

    /// Ends the update that the stream is in.
    pub(crate) fn take_update(&self) -> Option<(GroupKey, Vec<Arc<Content>>)> {
        let mut redirect = lock(&self.redirect);
        match redirect.take_if(|redirect| matches!(redirect, Redirect::Update { .. }))? {
            Redirect::Update { group, contents } => {
                self.is_redirected.store(false, Ordering::Relaxed);
                Some((group, contents))
            }
            Redirect::Capture { .. } => unreachable!("only updates are taken"),
        }
    }

    /// Remembers the first failure until somebody asks.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.record(error);
    }

    /// Whether everything is done and nothing failed that nobody has asked for.
    #[inline]
    pub(crate) fn is_clean(&self) -> bool {
        self.tasks.completion.done() >= self.newest() && !self.failure.is_set()
    }

    /// The failure that nobody has asked for yet.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.peek()
    }

    #[inline]
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.failure.take()
    }
}
