//! Host functions and callbacks: code of the program that runs in stream order.
//!
//! Under every executor they run on dedicated threads, as on the real runtime. A function may wait for the main thread;
//! its stream is not ready until the function returns. A host function runs on one thread per context. A callback runs
//! on the thread that subscribed, inside its process-report call.

pub(crate) mod calls;
mod delivery;

use crate::graph::run::GraphRun;
use crate::keys::StreamKey;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock, thread_local};
use softacl_sync::inbox::Inbox;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Maximum number of subscribed threads (specification 4.9).
const MAX_SUBSCRIBERS: usize = 1024;

/// A call into the program.
pub(crate) struct HostCall {
    pub(crate) function: Arc<dyn Fn() + Send + Sync>,
    pub(crate) delivery: Delivery,
}

/// Which thread runs the call, and whether the stream waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    ContextThread,
    Subscriber {
        thread: u64,
        holds_stream: bool,
    },
    /// The thread that is subscribed to `stream` when the call runs. A captured call runs on a stream of its graph.
    SubscriberOf {
        stream: StreamKey,
        holds_stream: bool,
    },
}

impl Delivery {
    /// True if the stream waits until the call has returned.
    pub(crate) fn holds_stream(self) -> bool {
        match self {
            Delivery::ContextThread => true,
            Delivery::Subscriber { holds_stream, .. } | Delivery::SubscriberOf { holds_stream, .. } => holds_stream,
        }
    }
}

impl fmt::Debug for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostCall").field(&self.delivery).finish()
    }
}

/// A call that was handed to its thread.
pub(crate) struct Posted {
    pub(crate) function: Arc<dyn Fn() + Send + Sync>,
    /// The task that the call belongs to.
    pub(crate) at: (StreamKey, u64),
    pub(crate) holds_stream: bool,
    /// The run of a graph that the task is a step of.
    pub(crate) run: Option<Arc<GraphRun>>,
}

thread_local! {
    /// Runs of graphs that cannot end before this thread returns from a call into the program, innermost last.
    static HELD_RUNS: RefCell<Vec<Arc<GraphRun>>> = const { RefCell::new(Vec::new()) };
}

/// A run of a graph that a call into the program holds on this thread. Dropped when the call returns.
pub(crate) struct HeldRun;

impl HeldRun {
    fn enter(run: Arc<GraphRun>) -> HeldRun {
        HELD_RUNS.with(|held| held.borrow_mut().push(run));
        HeldRun
    }

    /// True if the calling thread is inside a call that holds `run`: a wait for the run would not return.
    pub(crate) fn is_held_here(run: &Arc<GraphRun>) -> bool {
        HELD_RUNS.with(|held| held.borrow().iter().any(|other| Arc::ptr_eq(other, run)))
    }
}

impl Drop for HeldRun {
    fn drop(&mut self) {
        HELD_RUNS.with(|held| held.borrow_mut().pop());
    }
}

/// The thread that runs the host functions of a context. It ends when this value is dropped, after the calls that were
/// handed to it.
pub(crate) struct HostThread {
    calls: Arc<Inbox<HandedOver>>,
}

/// What the thread receives.
enum HandedOver {
    Call(Posted),
    /// The thread ends. Later calls do not exist.
    End,
}

impl HostThread {
    /// Hands a call to the thread. Returns `false` if the thread has ended.
    pub(crate) fn post(&self, posted: Posted) -> bool {
        self.calls.put(HandedOver::Call(posted))
    }
}

impl Drop for HostThread {
    fn drop(&mut self) {
        self.calls.put(HandedOver::End);
    }
}

/// The thread that a stream is subscribed to, and the device of the stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subscriber {
    pub(crate) thread: u64,
    pub(crate) device: u32,
}

/// Which thread is subscribed to which stream.
#[derive(Default)]
pub(crate) struct Subscriptions {
    pub(crate) streams: Mutex<HashMap<usize, Subscriber>>,
    /// Pending calls of each subscribed thread.
    pub(crate) inboxes: Mutex<HashMap<u64, Arc<Inbox<Posted>>>>,
}

impl Subscriptions {
    /// Subscribes a thread. It may serve several streams, but only of one device.
    pub(crate) fn subscribe(&self, thread: u64, stream: StreamKey, device: u32) -> Result<()> {
        let mut streams = lock(&self.streams);
        if streams.contains_key(&stream.raw()) {
            return fail(Error::AlreadySubscribed);
        }
        if let Some(other) = streams.values().find(|other| other.thread == thread && other.device != device) {
            return fail(Error::Parameter(format!(
                "thread {thread:#x} is subscribed to a stream of device {} and cannot serve device {device} as well: \
                 use one thread per device",
                other.device
            )));
        }
        let mut inboxes = lock(&self.inboxes);
        if !inboxes.contains_key(&thread) && inboxes.len() >= MAX_SUBSCRIBERS {
            return fail(Error::Parameter(format!(
                "{MAX_SUBSCRIBERS} threads are already subscribed, which is the limit"
            )));
        }
        inboxes.entry(thread).or_default();
        streams.insert(stream.raw(), Subscriber { thread, device });
        Ok(())
    }

    pub(crate) fn subscriber(&self, stream: StreamKey) -> Option<u64> {
        lock(&self.streams).get(&stream.raw()).map(|subscriber| subscriber.thread)
    }

    /// Hands a call to its thread. Returns `false` if the thread is no longer subscribed.
    pub(crate) fn post(&self, thread: u64, posted: Posted) -> bool {
        let Some(inbox) = lock(&self.inboxes).get(&thread).cloned() else { return false };
        inbox.put(posted)
    }
}
