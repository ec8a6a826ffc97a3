//! Host functions and callbacks: launching, subscribing, processing reports, and annotations for observers.

use crate::caller::Caller;
use crate::host::{Delivery, HostCall};
use crate::keys::StreamPoint;
use crate::observer::{AccessKind, BlockChange};
use crate::task::Control;
use crate::task::kind::TaskKind;
use softacl_errors::{Error, Result, fail};
use softacl_memory::touch::{Mode, Touch};
use softacl_sync::facade::lock;
use std::sync::Arc;

impl Caller<'_> {
    /// Runs `function` in stream order on the host-function thread of the context. The stream waits for it.
    pub fn launch_host_function(&self, stream: usize, function: Arc<dyn Fn() + Send + Sync>) -> Result<()> {
        let (key, stream) = self.stream(stream)?;
        let (context, _) = self.context()?;
        if stream.capture().is_some() && !self.machine.config.cann.captures_host_functions {
            let version = &self.machine.config.cann.version;
            return fail(Error::Feature(format!(
                "CANN {version} cannot capture a host function: use aclrtLaunchCallback"
            )));
        }
        if self.machine.subscriptions.subscriber(key).is_some() {
            return fail(Error::AlreadySubscribed);
        }
        // Started here, so that a refusal is returned by this call and not by a function that never runs.
        self.machine.start_host_thread(self.machine.contexts.slot(context))?;
        let call = Box::new(HostCall { function, delivery: Delivery::ContextThread });
        self.machine.submit(key, stream, context, Control::Host(call))?;
        lock(&stream.settings).host_functions = true;
        Ok(())
    }

    /// Runs `function` in stream order on the thread that subscribed to the stream. In a capture, every run of the graph
    /// calls it, on the thread that is subscribed to the captured stream then.
    pub fn launch_callback(
        &self,
        stream: usize,
        holds_stream: bool,
        function: Arc<dyn Fn() + Send + Sync>,
    ) -> Result<()> {
        let (key, stream) = self.stream(stream)?;
        let (context, _) = self.context()?;
        let thread = self.machine.subscriptions.subscriber(key).ok_or(Error::NoCallbackThread)?;
        let delivery = match stream.is_recording() {
            true => Delivery::SubscriberOf { stream: key, holds_stream },
            false => Delivery::Subscriber { thread, holds_stream },
        };
        let call = Box::new(HostCall { function, delivery });
        self.machine.submit(key, stream, context, Control::Host(call)).map(|_| ())
    }

    /// Declares what code outside the engine accesses: at this point of a stream, or immediately and ordered with no
    /// stream if `stream` is 0. Without effect unless an observer protects pages.
    pub fn annotate(&self, stream: usize, touch: Touch) -> Result<()> {
        if !self.machine.is_guarded() {
            return Ok(());
        }
        let kind = if touch.mode == Mode::Read { AccessKind::ExternalRead } else { AccessKind::ExternalWrite };
        if stream == 0 {
            return self.machine.with_access(kind, || vec![touch], || Ok(()));
        }
        let (key, stream) = self.stream(stream)?;
        let (context, _) = self.context()?;
        self.machine.submit(key, stream, context, Control::Annotation(Box::new(touch))).map(|_| ())
    }

    /// Declares that a block of an allocator of the program changes hands: at this point of a stream, or immediately if
    /// `stream` is 0. Without effect unless an observer protects pages.
    pub fn annotate_block(&self, stream: usize, change: BlockChange) -> Result<()> {
        let Some(observer) = self.machine.observer().filter(|_| self.machine.is_guarded()) else { return Ok(()) };
        if stream == 0 {
            observer.block_changed(change, None);
            return Ok(());
        }
        let (key, stream) = self.stream(stream)?;
        let (context, _) = self.context()?;
        let kind = match change {
            BlockChange::Allocated { .. } => TaskKind::BlockAllocation,
            BlockChange::Freed { .. } => TaskKind::BlockRelease,
        };
        let sequence = self.machine.submit(key, stream, context, Control::Nothing(kind))?;
        // A captured task has no number: the graph decides when the block changes hands.
        if sequence != 0 {
            observer.block_changed(change, Some(StreamPoint { stream: key, sequence }.into()));
        }
        Ok(())
    }

    /// Subscribes a thread to the callbacks of a stream.
    pub fn subscribe(&self, thread: u64, stream: usize) -> Result<()> {
        let (key, stream) = self.stream(stream)?;
        if lock(&stream.settings).host_functions {
            return fail(Error::AlreadySubscribed);
        }
        self.machine.subscriptions.subscribe(thread, key, stream.device())
    }

    /// Ends the subscription of a thread to a stream.
    pub fn unsubscribe(&self, thread: u64, stream: usize) -> Result<()> {
        let (key, _) = self.stream(stream)?;
        self.machine.subscriptions.unsubscribe(self.machine, thread, key)
    }

    /// Waits for callbacks to `thread`, which must be the calling thread, and runs those that have arrived.
    pub fn process_reports(&self, thread: u64, timeout_ms: i32) -> Result<()> {
        self.machine.subscriptions.process(self.machine, thread, timeout_ms)
    }
}
