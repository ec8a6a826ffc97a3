//! Emitting: the calls of the engine to its observer. Only callbacks with arguments to prepare are here.

use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::{AccessKind, Advisory, FunctionOrder, Object, Observer, StreamPosition, Submitted, signal};
use crate::order::Footprint;
use crate::slow_path::Reason;
use crate::task::kind::TaskKind;
use crate::task::moves::Move;
use crate::task::{Control, Task, Waited};
use softacl_errors::Result;
use softacl_memory::export::{self, ExportKey, OpenedExport, Purpose};
use softacl_memory::shared::SharedName;
use softacl_memory::touch::Touch;

impl Machine {
    /// True if the observer protects pages.
    pub(crate) fn is_guarded(&self) -> bool {
        self.reasons.has(Reason::PageGuard)
    }

    /// Emits that an object is about to end.
    pub(crate) fn emit_ending(&self, object: Object, by_force: bool) {
        if let Some(observer) = self.observer() {
            observer.ending(object, by_force);
        }
    }

    /// Emits that the program has waited for a point, if `reached`. Returns `reached`.
    pub(crate) fn emit_waited(&self, point: StreamPoint, reached: bool) -> bool {
        if let (Some(observer), true) = (self.observer(), reached) {
            observer.waited(point.into());
        }
        reached
    }

    /// Emits that the calling thread has seen that a record of a shared event was reached.
    pub(crate) fn emit_foreign_record(&self) {
        if let Some(observer) = self.observer() {
            observer.foreign_record_seen();
        }
    }

    /// The point of the task that a stream gets next. If another thread submits first, the observer receives an order
    /// that is one task too early, or none.
    pub(crate) fn next_point(&self, stream: StreamKey) -> StreamPoint {
        StreamPoint { stream, sequence: self.streams.slot(stream).newest() + 1 }
    }

    /// Emits a task that is about to be queued.
    #[cold]
    pub(crate) fn emit_submitted(&self, observer: &dyn Observer, at: StreamPosition, device: u32, task: &Task) {
        let control = if let Task::Control(control) = task { Some(control) } else { None };
        let (after, event) = match control {
            Some(Control::Wait(wait)) => match wait.after {
                Waited::Point(point) => (Some(StreamPosition::from(point)), wait.event),
                _ => (None, wait.event),
            },
            Some(Control::Await(wait)) => (wait.after.map(StreamPosition::from), None),
            Some(Control::Record { event, .. }) => (None, Some(*event)),
            _ => (None, None),
        };
        // No allocation for the common task.
        let (copied, listed);
        let touches: &[Touch] = match task {
            Task::Move(Move::Copy(span)) => {
                copied = self.memory.touches_of(span);
                &copied
            }
            task => {
                listed = task.accesses(&self.memory);
                &listed
            }
        };
        observer.submitted(&Submitted {
            at,
            device,
            kind: task.kind(),
            touches,
            label: task.label().as_deref(),
            captured: match control {
                Some(Control::Node { node, .. }) => Some(node.number()),
                _ => None,
            },
            function: match control {
                Some(Control::Host(call)) if call.delivery.holds_stream() => Some(FunctionOrder::HoldsStream),
                Some(Control::Host(_)) => Some(FunctionOrder::Free),
                _ => None,
            },
            after,
            event: event.map(|event| event.index() as u32),
            is_external_wait: match control {
                // A delay that a fault rule adds orders nothing.
                Some(Control::Await(wait)) => !wait.is_injected(),
                Some(Control::Wait(wait)) => !matches!(wait.after, Waited::Point(_)),
                Some(Control::Node { node, .. }) => node.external_wait().is_some(),
                _ => false,
            },
            signal: signal::of(task, &self.memory),
            releases: match control {
                Some(Control::Release(pending)) => Some(pending.start),
                _ => None,
            },
        });
    }

    /// Emits a task that is about to run.
    #[cold]
    pub(crate) fn emit_started(&self, observer: &dyn Observer, at: StreamPosition, task: &Task) {
        let kind = task.kind();
        if matches!(kind, TaskKind::DescriptorCopy | TaskKind::IndirectCopy) {
            observer.resolved(at, kind, &task.accesses(&self.memory));
        }
        observer.started(at);
    }

    /// Runs an access of the calling thread between `access_started` and `access_finished`. Fails without running it if
    /// an injected fault has damaged the memory.
    pub(crate) fn with_access(
        &self,
        kind: AccessKind,
        touches: impl FnOnce() -> Vec<Touch>,
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let result = if self.has_hooks() { self.with_access_observed(kind, &touches(), run) } else { run() };
        self.poll_external_waits();
        result
    }

    #[cold]
    fn with_access_observed(
        &self,
        kind: AccessKind,
        touches: &[Touch],
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.check_touches(touches)?;
        self.host_touched(|| Footprint { touches: touches.to_vec(), ..Footprint::default() });
        let charged = || {
            let result = run();
            if !matches!(kind, AccessKind::DescriptorWrite | AccessKind::ExternalRead | AccessKind::ExternalWrite) {
                self.charge_access(touches);
            }
            result
        };
        let Some(observer) = self.observer() else { return charged() };
        observer.access_started(kind, touches);
        let result = charged();
        observer.access_finished(touches, result.is_ok());
        result
    }

    /// Emits that something is about to end that other processes use, if `users` returns any. Without an observer, they
    /// are not determined.
    pub(crate) fn check_shared_unused(&self, what: &'static str, users: impl FnOnce() -> Vec<u32>) {
        let Some(observer) = self.observer() else { return };
        let processes = users();
        if !processes.is_empty() {
            observer.advised(&Advisory::SharedInUse { what, processes });
        }
    }

    /// Emits that an event or notify cannot be opened any more, if its creator still runs.
    pub(crate) fn check_ended(&self, what: &'static str, name: SharedName) {
        let process = name.process;
        if name.is_creator_running() {
            self.advise(|| Advisory::EndedBeforeImport { what, process });
        }
    }

    /// Opens exported memory of another process. Emits that it ended before, if its exporter still runs.
    pub(crate) fn open_export(&self, key: ExportKey, purpose: Purpose) -> Result<OpenedExport> {
        export::open(key, purpose).inspect_err(|_| {
            if self.observer().is_some() && key.has_ended() {
                self.advise(|| Advisory::EndedBeforeImport { what: "memory", process: key.process() });
            }
        })
    }

    /// Emits an advisory.
    #[inline]
    pub(crate) fn advise(&self, advisory: impl FnOnce() -> Advisory) {
        if let Some(observer) = self.observer() {
            observer.advised(&advisory());
        }
    }
}
