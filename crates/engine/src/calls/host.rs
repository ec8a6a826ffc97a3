//! Host functions and callbacks.

use super::Caller;
use crate::error::{Error, Result, fail};
use crate::host::{Delivery, HostCall};
use crate::observer::{AccessKind, Mode, Touch};
use crate::sync::lock;
use crate::task::Task;
use std::sync::Arc;

impl Caller<'_> {
    /// Runs `function` in stream order on a thread of the context; the stream waits for it.
    pub fn launch_host_function(&self, stream: usize, function: Arc<dyn Fn() + Send + Sync>) -> Result<()> {
        let (key, stream) = self.stream(stream)?;
        let (context, _) = self.context()?;
        if self.machine.subscriptions.subscriber(key).is_some() {
            return fail(Error::AlreadySubscribed);
        }
        // Now, so that a refusal is told by this call and not by a function that never runs.
        self.machine.start_host_thread(self.machine.contexts.slot(context))?;
        let call = Box::new(HostCall { function, delivery: Delivery::ContextThread });
        self.machine.submit(key, stream, context, Task::Host(call))?;
        lock(&stream.settings).host_functions = true;
        Ok(())
    }

    /// Runs `function` in stream order in the thread that subscribed to the stream.
    pub fn launch_callback(
        &self,
        stream: usize,
        holds_stream: bool,
        function: Arc<dyn Fn() + Send + Sync>,
    ) -> Result<()> {
        let (key, stream) = self.stream(stream)?;
        let (context, _) = self.context()?;
        let thread = self.machine.subscriptions.subscriber(key).ok_or(Error::NoCallbackThread)?;
        let call = Box::new(HostCall { function, delivery: Delivery::Subscriber { thread, holds_stream } });
        self.machine.submit(key, stream, context, Task::Host(call)).map(|_| ())
    }

    /// The program says what code that is not ours touches: in order with a stream, or outside all
    /// streams and now. Only an observer that guards memory cares.
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
        self.machine.submit(key, stream, context, Task::Annotation(touch)).map(|_| ())
    }

    pub fn subscribe(&self, thread: u64, stream: usize) -> Result<()> {
        let (key, stream) = self.stream(stream)?;
        if lock(&stream.settings).host_functions {
            return fail(Error::AlreadySubscribed);
        }
        self.machine.subscriptions.subscribe(thread, key)
    }

    pub fn unsubscribe(&self, thread: u64, stream: usize) -> Result<()> {
        let (key, _) = self.stream(stream)?;
        self.machine.subscriptions.unsubscribe(self.machine, thread, key)
    }

    /// Waits for callbacks to `thread`, the calling one, and runs those that have arrived.
    pub fn process_reports(&self, thread: u64, timeout_ms: i32) -> Result<()> {
        self.machine.subscriptions.process(self.machine, thread, timeout_ms)
    }
}
