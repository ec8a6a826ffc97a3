//! Streams: a queue of tasks with an identity, a completion counter and its first failure.
//!
//! The slot of a stream outlives the stream, and its numbering continues in the next one. "Task 17 of this slot is
//! finished" therefore stays true.
//!
//! Access rules: the identity is written while the slot is being taken, before the handle is published. `tasks`
//! synchronizes itself.

mod abort;
pub(crate) mod calls;

use crate::graph::Redirect;
use crate::keys::{ContextKey, GraphKey, GroupKey, StreamKey};
use crate::task::{Content, Task};
use softacl_errors::{Error, Result, fail};
use softacl_memory::Hints;
use softacl_sync::facade::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use softacl_sync::failure::FirstFailure;
use softacl_sync::shared_lane::SharedLane;
use std::sync::Arc;

/// Options at creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    pub priority: u32,
    pub flags: u32,
}

/// Flag of streams that the device submits to.
const DEVICE_USE_ONLY: u32 = 0x20;
/// Flags of streams that a wait skips: persistent, CPU-scheduled, device-only.
const NOT_SYNCHRONIZED: u32 = 0x4 | 0x10 | DEVICE_USE_ONLY;

/// A stream of the API, or a stream that runs a branch of a graph.
///
/// Aligned, so that the fields that every submit accesses share as few cache lines as possible.
#[derive(Default)]
#[repr(align(64))]
pub struct Stream {
    pub(crate) tasks: SharedLane<Task, StreamKey>,
    /// Number of the newest task, for threads that must not take the lane lock.
    newest: AtomicU64,
    context: AtomicUsize,
    device: AtomicU32,
    priority: AtomicU32,
    flags: AtomicU32,
    /// True if tasks go to `redirect` instead of the lane.
    is_redirected: AtomicBool,
    redirect: Mutex<Option<Redirect>>,
    /// True if the stream takes no tasks: it is the default stream of a context with a capture in progress. Changes
    /// under the lock of `redirect`.
    is_refusing: AtomicBool,
    /// True while a host function holds the claim. It accesses no memory of the engine.
    pub(crate) is_held: AtomicBool,
    /// Bytes that the last submitting thread had submitted since the last wait, on all streams. Decides whether copies
    /// bypass the cache.
    pub(crate) volume: AtomicUsize,
    /// Where copies of this stream last found their allocations.
    pub(crate) hints: Hints,
    /// True if the machine's list of busy streams contains the stream. Protected by the lane lock.
    pub(crate) is_in_busy_list: AtomicBool,
    /// Consecutive polls that found the stream busy. Used by the stepped executor.
    pub(crate) polls: AtomicU32,
    failure: FirstFailure<Error>,
    /// Upper half: number of aborts that have begun, of this stream and earlier ones in this slot. Lower half: number
    /// of aborts in progress.
    aborts: AtomicU64,
    /// Number of the newest task of the stream that had the slot before.
    inherited: AtomicU64,
    pub(crate) settings: Mutex<StreamSettings>,
}

/// Attributes that programs can set and read back.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamSettings {
    pub overflow_check: u32,
    pub custom_tag: u32,
    pub cache_op_info: u32,
    /// Maximum number of cube and vector cores that the program allows.
    pub core_limits: [Option<u32>; 2],
    /// True if host functions were launched, which excludes subscribed callbacks.
    pub(crate) host_functions: bool,
}

impl Stream {
    /// Gives the slot a new identity. Called while the slot is being taken.
    pub(crate) fn open(&self, context: ContextKey, device: u32, options: StreamOptions) {
        self.context.store(context.raw(), Ordering::Relaxed);
        self.device.store(device, Ordering::Relaxed);
        self.priority.store(options.priority, Ordering::Relaxed);
        self.flags.store(options.flags, Ordering::Relaxed);
        self.is_redirected.store(false, Ordering::Relaxed);
        *lock(&self.redirect) = None;
        self.is_refusing.store(false, Ordering::Relaxed);
        self.failure.clear();
        self.inherited.store(self.newest(), Ordering::Relaxed);
        *lock(&self.settings) = StreamSettings::default();
    }

    #[inline]
    pub(crate) fn context(&self) -> Option<ContextKey> {
        ContextKey::from_raw(self.context.load(Ordering::Relaxed))
    }

    pub(crate) fn device(&self) -> u32 {
        self.device.load(Ordering::Relaxed)
    }

    /// The options at creation, with the current priority.
    pub(crate) fn options(&self) -> StreamOptions {
        StreamOptions { priority: self.priority.load(Ordering::Relaxed), flags: self.flags.load(Ordering::Relaxed) }
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// True if waits include the stream.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & NOT_SYNCHRONIZED == 0
    }

    /// True if the stream was created for use by the device only.
    pub(crate) fn is_for_device(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & DEVICE_USE_ONLY != 0
    }

    /// Marks the stream as being aborted until the guard is dropped.
    fn begin_abort(&self) -> AbortGuard<'_> {
        self.aborts.fetch_add(1 << 32 | 1, Ordering::AcqRel);
        AbortGuard(self)
    }

    /// Refuses a call while the stream is being aborted. Returns the number of aborts so far, for
    /// `check_not_aborted_since`.
    pub(crate) fn check_not_aborting(&self, key: StreamKey) -> Result<u64> {
        let aborts = self.aborts.load(Ordering::Acquire);
        if aborts as u32 == 0 { Ok(aborts) } else { fail(aborted(key)) }
    }

    /// Fails if an abort has begun since `check_not_aborting` returned this number.
    pub(crate) fn check_not_aborted_since(&self, key: StreamKey, aborts: u64) -> Result<()> {
        if self.aborts.load(Ordering::Acquire) == aborts { Ok(()) } else { fail(aborted(key)) }
    }

    /// Number of the newest task.
    #[inline]
    pub(crate) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// True if a task was ever queued on the stream.
    pub(crate) fn is_used(&self) -> bool {
        self.newest() > self.inherited.load(Ordering::Relaxed)
    }

    /// Publishes the number of a task. Called under the lane lock, before the task can access anything.
    #[inline]
    pub(crate) fn set_newest(&self, sequence: u64) {
        self.newest.store(sequence, Ordering::Release);
    }

    /// True if tasks do not go to the lane: the stream is capturing, updates a task group, or refuses tasks.
    #[inline]
    pub(crate) fn is_redirected(&self) -> bool {
        self.is_redirected.load(Ordering::Relaxed)
    }

    /// True if the stream is capturing, or updates a task group.
    pub(crate) fn is_recording(&self) -> bool {
        self.is_redirected() && lock(&self.redirect).is_some()
    }

    /// True if the stream takes no tasks because another stream of its context is capturing.
    pub(crate) fn refuses_tasks(&self) -> bool {
        self.is_refusing.load(Ordering::Relaxed)
    }

    /// Makes the stream refuse tasks, or accept them again.
    pub(crate) fn set_refusing(&self, refuses: bool) {
        let redirect = lock(&self.redirect);
        self.is_refusing.store(refuses, Ordering::Relaxed);
        self.is_redirected.store(refuses || redirect.is_some(), Ordering::Relaxed);
    }

    /// Ends the redirect under its lock.
    fn finish_redirect(&self) {
        self.is_redirected.store(self.refuses_tasks(), Ordering::Relaxed);
    }

    /// Sends later tasks to a capture or an update instead of the lane.
    pub(crate) fn redirect(&self, redirect: Redirect) {
        let mut current = lock(&self.redirect);
        *current = Some(redirect);
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

    /// The graph and branch that the stream is bound to.
    pub(crate) fn build(&self) -> Option<(GraphKey, usize)> {
        if !self.is_redirected() {
            return None;
        }
        match *lock(&self.redirect) {
            Some(Redirect::Build { graph, branch }) => Some((graph, branch)),
            _ => None,
        }
    }

    /// Ends the redirect to a graph that is captured or built.
    pub(crate) fn stop_redirect(&self, key: GraphKey) {
        let mut redirect = lock(&self.redirect);
        let to = match *redirect {
            Some(Redirect::Capture { graph, .. } | Redirect::Build { graph, .. }) => Some(graph),
            _ => None,
        };
        if to == Some(key) {
            *redirect = None;
            self.finish_redirect();
        }
    }

    /// Adds a content to the update of this stream. `None` if the stream is not updating.
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

    /// Ends the update of this stream.
    pub(crate) fn take_update(&self) -> Option<(GroupKey, Vec<Arc<Content>>)> {
        let mut redirect = lock(&self.redirect);
        match redirect.take_if(|redirect| matches!(redirect, Redirect::Update { .. }))? {
            Redirect::Update { group, contents } => {
                self.finish_redirect();
                Some((group, contents))
            }
            Redirect::Capture { .. } | Redirect::Build { .. } => unreachable!("only updates are taken"),
        }
    }

    /// Records a failure. The first one is kept until a wait returns it.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.record(error);
    }

    /// True if all tasks are done and no failure is pending.
    #[inline]
    pub(crate) fn is_clean(&self) -> bool {
        self.tasks.completion.done() >= self.newest() && !self.failure.is_set()
    }

    /// The pending failure, without clearing it.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.peek()
    }

    /// Takes the pending failure.
    #[inline]
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.failure.take()
    }
}

/// An abort in progress.
struct AbortGuard<'a>(&'a Stream);

impl Drop for AbortGuard<'_> {
    fn drop(&mut self) {
        self.0.aborts.fetch_sub(1, Ordering::AcqRel);
    }
}

fn aborted(key: StreamKey) -> Error {
    Error::StreamAborted(key.index() as u32)
}
