//! Host functions and callbacks: code of the program that runs in stream order.
//!
//! They run on threads of their own under every driver, as on the real runtime: a function may wait
//! for the main thread, and then its stream is simply not ready yet. A host function runs on one
//! thread per context; a callback runs in the thread that subscribed, inside its process-report call.

use crate::keys::StreamKey;
use crate::machine::Machine;
use crate::observer::StreamPosition;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock, mpsc};
use softacl_sync::inbox::Inbox;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Subscribed threads at most (specification 4.9).
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
    Subscriber { thread: u64, holds_stream: bool },
}

impl fmt::Debug for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostCall").field(&self.delivery).finish()
    }
}

/// A call on its way, and the task that is finished when it returns.
struct Posted {
    function: Arc<dyn Fn() + Send + Sync>,
    /// The task that the call is, and whether the stream waits for it.
    at: (StreamKey, u64),
    holds_stream: bool,
}

impl Posted {
    fn run(self, machine: &Machine) {
        let (stream, sequence) = self.at;
        let at = StreamPosition { stream: stream.index() as u32, sequence };
        if let Some(probe) = machine.probe() {
            probe.function_entered(at);
        }
        (self.function)();
        if let Some(probe) = machine.probe() {
            probe.function_left(at);
        }
        if self.holds_stream {
            machine.finish_held(stream, sequence);
        }
    }
}

/// The thread of one context that runs its host functions. It ends when this value is dropped.
pub(crate) struct HostThread {
    calls: mpsc::Sender<Posted>,
}

impl HostThread {
    pub(crate) fn start(machine: Weak<Machine>) -> Result<HostThread> {
        let (calls, inbox) = mpsc::channel::<Posted>();
        let run = move || {
            for posted in inbox {
                match machine.upgrade() {
                    Some(machine) => posted.run(&machine),
                    None => break,
                }
            }
        };
        crate::thread::start("softacl-host".to_owned(), run)
            .map_err(|e| Error::Setup(format!("could not start the thread for host functions: {e}")))?;
        Ok(HostThread { calls })
    }

    /// `false` when the thread is gone.
    pub(crate) fn post(&self, call: HostCall, stream: StreamKey, sequence: u64) -> bool {
        self.calls.send(Posted { function: call.function, at: (stream, sequence), holds_stream: true }).is_ok()
    }
}

/// Who is subscribed to what.
#[derive(Default)]
pub(crate) struct Subscriptions {
    streams: Mutex<HashMap<usize, u64>>,
    /// Calls waiting for each subscribed thread.
    inboxes: Mutex<HashMap<u64, Arc<Inbox<Posted>>>>,
}

impl Subscriptions {
    pub(crate) fn subscribe(&self, thread: u64, stream: StreamKey) -> Result<()> {
        let mut streams = lock(&self.streams);
        if streams.contains_key(&stream.raw()) {
            return fail(Error::AlreadySubscribed);
        }
        let mut inboxes = lock(&self.inboxes);
        if !inboxes.contains_key(&thread) && inboxes.len() >= MAX_SUBSCRIBERS {
            return fail(Error::Parameter(format!("{MAX_SUBSCRIBERS} threads are subscribed, the limit")));
        }
        inboxes.entry(thread).or_default();
        streams.insert(stream.raw(), thread);
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, machine: &Machine, thread: u64, stream: StreamKey) -> Result<()> {
        if self.subscriber(stream) != Some(thread) {
            return fail(Error::ThreadNotSubscribed(thread));
        }
        self.forget(machine, stream);
        Ok(())
    }

    pub(crate) fn subscriber(&self, stream: StreamKey) -> Option<u64> {
        lock(&self.streams).get(&stream.raw()).copied()
    }

    /// Ends the subscription of a stream, and that of its thread when it was the last.
    pub(crate) fn forget(&self, machine: &Machine, stream: StreamKey) {
        let closed = {
            let mut streams = lock(&self.streams);
            let Some(thread) = streams.remove(&stream.raw()) else { return };
            let last = !streams.values().any(|other| *other == thread);
            last.then(|| lock(&self.inboxes).remove(&thread)).flatten()
        };
        // Nobody will run what is left: streams that wait for it go on, with an error.
        for posted in closed.iter().flat_map(|inbox| inbox.close()).filter(|posted| posted.holds_stream) {
            let (stream, sequence) = posted.at;
            machine.streams.slot(stream).fail(Error::NoCallbackThread);
            machine.finish_held(stream, sequence);
        }
    }

    /// Takes back calls of a stream that no thread has begun: its work was dropped, and the thread may never ask.
    pub(crate) fn cancel(&self, machine: &Machine, stream: StreamKey) {
        let inboxes: Vec<Arc<Inbox<Posted>>> = lock(&self.inboxes).values().cloned().collect();
        for inbox in inboxes {
            let withdrawn = inbox.remove_if(|posted| posted.at.0 == stream);
            for posted in withdrawn.iter().filter(|posted| posted.holds_stream) {
                machine.finish_held(stream, posted.at.1);
            }
        }
    }

    /// Hands a call to its thread. `false` when that thread is no longer subscribed.
    pub(crate) fn post(&self, thread: u64, call: HostCall, at: (StreamKey, u64), holds_stream: bool) -> bool {
        let Some(inbox) = lock(&self.inboxes).get(&thread).cloned() else { return false };
        inbox.put(Posted { function: call.function, at, holds_stream })
    }

    /// Waits for calls to `thread`, which is the calling one, and runs those that are there.
    pub(crate) fn process(&self, machine: &Machine, thread: u64, timeout_ms: i32) -> Result<()> {
        let inbox = lock(&self.inboxes).get(&thread).cloned().ok_or(Error::ThreadNotSubscribed(thread))?;
        if !inbox.wait(deadline(timeout_ms)) {
            return fail(Error::ReportTimeout(timeout_ms));
        }
        if inbox.is_closed() {
            return fail(Error::ThreadNotSubscribed(thread));
        }
        while let Some(posted) = inbox.fetch() {
            posted.run(machine);
        }
        Ok(())
    }
}

/// The moment that a timeout in milliseconds means; -1 is never.
pub(crate) fn deadline(timeout_ms: i32) -> Option<Instant> {
    let ms = u64::try_from(timeout_ms).ok()?;
    Instant::now().checked_add(std::time::Duration::from_millis(ms))
}
