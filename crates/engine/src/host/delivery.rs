//! Delivery: running host functions on the thread of their context, and callbacks on the subscribed thread.

use crate::context::Context;
use crate::host::{HandedOver, HeldRun, HostThread, Posted, Subscriber, Subscriptions};
use crate::keys::StreamKey;
use crate::machine::Machine;
use crate::observer::{BlockedOn, StreamPosition};
use crate::timeout::deadline;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;
use softacl_sync::inbox::Inbox;
use std::sync::{Arc, Weak};

impl Posted {
    /// Runs the call and finishes its task.
    fn run(self, machine: &Machine) {
        let (stream, sequence) = self.at;
        let at = StreamPosition { stream: stream.index() as u32, sequence };
        if let Some(observer) = machine.observer() {
            observer.function_entered(at);
        }
        let holds_run = self.run.filter(|_| self.holds_stream).map(HeldRun::enter);
        {
            let _running = machine.blocked.run_function(at);
            (self.function)();
        }
        drop(holds_run);
        if let Some(observer) = machine.observer() {
            observer.function_left(at);
        }
        if self.holds_stream {
            machine.finish_held(stream, sequence);
        }
    }
}

impl HostThread {
    fn start(machine: Weak<Machine>) -> Result<HostThread> {
        let calls = Arc::new(Inbox::default());
        let inbox = Arc::clone(&calls);
        let run = move || {
            loop {
                inbox.wait(None);
                match inbox.fetch() {
                    Some(HandedOver::Call(posted)) => match machine.upgrade() {
                        Some(machine) => posted.run(&machine),
                        None => break,
                    },
                    Some(HandedOver::End) => break,
                    // The call was taken back.
                    None => {}
                }
            }
            inbox.close();
        };
        crate::thread::start("softacl-host".to_owned(), run)
            .map_err(|e| Error::Setup(format!("could not start the thread for host functions: {e}")))?;
        Ok(HostThread { calls })
    }

    /// Takes back the calls for which `is_unwanted` holds and that the thread has not started.
    fn withdraw(&self, is_unwanted: impl Fn(&Posted) -> bool) -> Vec<Posted> {
        let removed = self.calls.remove_if(|handed| matches!(handed, HandedOver::Call(posted) if is_unwanted(posted)));
        let call = |handed| match handed {
            HandedOver::Call(posted) => Some(posted),
            HandedOver::End => None,
        };
        removed.into_iter().filter_map(call).collect()
    }
}

impl Machine {
    /// Starts the thread for host functions of a context, unless it is running.
    pub(crate) fn start_host_thread(&self, context: &Context) -> Result<()> {
        let mut host = lock(&context.host);
        if host.is_none() {
            *host = Some(HostThread::start(self.weak())?);
        }
        Ok(())
    }
}

impl Subscriptions {
    pub(crate) fn unsubscribe(&self, machine: &Machine, thread: u64, stream: StreamKey) -> Result<()> {
        if self.subscriber(stream) != Some(thread) {
            return fail(Error::ThreadNotSubscribed(thread));
        }
        self.forget(machine, stream);
        Ok(())
    }

    /// Ends the subscription of a stream. The subscription of the thread ends with its last stream.
    pub(crate) fn forget(&self, machine: &Machine, stream: StreamKey) {
        let closed = {
            let mut streams = lock(&self.streams);
            let Some(Subscriber { thread, .. }) = streams.remove(&stream.raw()) else { return };
            let last = !streams.values().any(|other| other.thread == thread);
            last.then(|| lock(&self.inboxes).remove(&thread)).flatten()
        };
        // The remaining calls will never run. Streams that wait for them continue with an error.
        for posted in closed.iter().flat_map(|inbox| inbox.close()).filter(|posted| posted.holds_stream) {
            let (stream, sequence) = posted.at;
            match &posted.run {
                Some(run) => run.fail(Error::NoCallbackThread.in_graph()),
                None => machine.streams.slot(stream).fail(Error::NoCallbackThread),
            }
            machine.finish_held(stream, sequence);
        }
    }

    /// Takes back calls of a stream that no thread has started: its tasks were dropped, and the thread may never
    /// process reports, or be the one that drops the tasks.
    pub(crate) fn cancel(&self, machine: &Machine, stream: StreamKey) {
        self.withdraw(machine, stream, |_| true);
    }

    /// Takes back the call that a stream waits for, if no thread has started it.
    pub(crate) fn cancel_held(&self, machine: &Machine, stream: StreamKey) {
        self.withdraw(machine, stream, |posted| posted.holds_stream);
    }

    fn withdraw(&self, machine: &Machine, stream: StreamKey, matches: impl Fn(&Posted) -> bool) {
        let is_unwanted = |posted: &Posted| posted.at.0 == stream && matches(posted);
        let inboxes: Vec<Arc<Inbox<Posted>>> = lock(&self.inboxes).values().cloned().collect();
        let mut withdrawn: Vec<Posted> = inboxes.iter().flat_map(|inbox| inbox.remove_if(is_unwanted)).collect();
        if let Some(context) = machine.streams.slot(stream).context() {
            let host = lock(&machine.contexts.slot(context).host);
            withdrawn.extend(host.iter().flat_map(|thread| thread.withdraw(is_unwanted)));
        }
        for posted in withdrawn.iter().filter(|posted| posted.holds_stream) {
            machine.finish_held(stream, posted.at.1);
        }
    }

    /// Waits for calls to `thread`, which must be the calling thread, and runs those that have arrived.
    pub(crate) fn process(&self, machine: &Machine, thread: u64, timeout_ms: i32) -> Result<()> {
        let inbox = lock(&self.inboxes).get(&thread).cloned().ok_or(Error::ThreadNotSubscribed(thread))?;
        let is_done = {
            let deadline = deadline(timeout_ms);
            let _blocked = machine.block(BlockedOn::Reports, deadline);
            inbox.wait(deadline)
        };
        if !is_done {
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
