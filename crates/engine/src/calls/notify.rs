//! Notifies: making, recording, waiting, sharing with other processes.

use super::Caller;
use crate::context::ContextKey;
use crate::error::{Error, HandleKind, Result, fail};
use crate::executor::external_waits::{ExternalWait, WaitCondition};
use crate::memory::shared::{SharedCounters, SharedName};
use crate::notify::{Compare, Counter, CounterOp, Notify, NotifyKey, NotifyState};
use crate::stream::{Stream, StreamKey, StreamPoint};
use crate::sync::lock;
use crate::task::Task;
use std::sync::Arc;
use std::time::Duration;

/// What keys begin with.
const PREFIX: &str = "softacl-notify-";
/// As many as handles. No table of the limits of chips is public.
const MAX_NOTIFIES: usize = 1 << 20;

impl Caller<'_> {
    pub fn create_notify(&self) -> Result<NotifyKey> {
        self.context_or_default()?;
        self.insert_notify(NotifyState::default())
    }

    pub fn create_counting_notify(&self) -> Result<NotifyKey> {
        self.context_or_default()?;
        self.insert_notify(NotifyState { is_counting: true, ..NotifyState::default() })
    }

    fn insert_notify(&self, state: NotifyState) -> Result<NotifyKey> {
        let open = |notify: &Notify, _| *lock(&notify.state) = state;
        self.machine.notifies.insert(open).ok_or_else(|| Box::new(Error::NoNotify(MAX_NOTIFIES)))
    }

    /// Ends a notify. Records and waits that are queued stay what they are.
    pub fn destroy_notify(&self, raw: usize, is_counting: bool) -> Result<()> {
        let (key, notify) = self.notify(raw, is_counting)?;
        if !self.machine.notifies.retire(key) {
            return fail(Error::Handle { what: HandleKind::Notify, handle: raw });
        }
        // Before the slot is given away: then it is somebody else's.
        *lock(&notify.state) = NotifyState::default();
        self.machine.notifies.recycle(key);
        Ok(())
    }

    pub fn notify_number(&self, raw: usize, is_counting: bool) -> Result<u32> {
        Ok(self.notify(raw, is_counting)?.0.index() as u32)
    }

    /// Queues a record.
    pub fn record_notify(&self, raw: usize, stream: usize) -> Result<()> {
        self.change_notify(raw, stream, CounterOp::Set(1), false)
    }

    /// Queues a change of a counting notify.
    pub fn change_counting_notify(&self, raw: usize, stream: usize, change: CounterOp) -> Result<()> {
        self.change_notify(raw, stream, change, true)
    }

    fn change_notify(&self, raw: usize, stream: usize, change: CounterOp, is_counting: bool) -> Result<()> {
        let (_, notify) = self.notify(raw, is_counting)?;
        let (key, stream, context) = self.notify_stream(stream)?;
        let counter = Arc::clone(&lock(&notify.state).counter);
        let sequence = self.machine.submit(key, stream, context, Task::Change { counter, change })?;
        self.pair_record(notify, StreamPoint { stream: key, sequence });
        Ok(())
    }

    /// Queues a wait that takes the record away; no timeout is for ever.
    pub fn wait_notify(&self, raw: usize, stream: usize, timeout: Option<Duration>) -> Result<()> {
        self.queue_notify_wait(raw, stream, Compare::Equal(1), true, timeout, false)
    }

    /// Queues a wait for a number. `clears`: it becomes 0 when the stream passes.
    pub fn wait_counting_notify(
        &self,
        raw: usize,
        stream: usize,
        compare: Compare,
        clears: bool,
        timeout: Option<Duration>,
    ) -> Result<()> {
        self.queue_notify_wait(raw, stream, compare, clears, timeout, true)
    }

    fn queue_notify_wait(
        &self,
        raw: usize,
        stream: usize,
        compare: Compare,
        clears: bool,
        timeout: Option<Duration>,
        is_counting: bool,
    ) -> Result<()> {
        let (_, notify) = self.notify(raw, is_counting)?;
        let (key, stream, context) = self.notify_stream(stream)?;
        let counter = Arc::clone(&lock(&notify.state).counter);
        let sign = WaitCondition::Notify { counter, compare, clears };
        let vigil = ExternalWait::new(sign).within(timeout);
        let submit = |vigil| self.machine.submit(key, stream, context, Task::Await(Arc::new(vigil)));
        // Which records make a number is not known before it is there.
        if self.machine.probe().is_none() || is_counting {
            return submit(vigil).map(|_| ());
        }
        let (after, point) = self.pair_wait(notify, key);
        let submitted = submit(vigil.after(after));
        if submitted.as_ref().map_or(0, |sequence| *sequence) == 0 {
            // Refused, or captured: it waits for no record.
            let mut state = lock(&notify.state);
            state.waits.retain(|wait| *wait != point);
            state.record = state.record.or(after);
        }
        submitted.map(|_| ())
    }

    /// Takes records away that nobody has waited for, now.
    pub fn reset_notifies(&self, all: &[usize]) -> Result<()> {
        let notifies: Result<Vec<&Notify>> = all.iter().map(|raw| Ok(self.notify(*raw, false)?.1)).collect();
        for notify in notifies? {
            let mut state = lock(&notify.state);
            state.record = None;
            state.counter.update(|_| Some(0));
        }
        self.machine.poll_external_waits();
        Ok(())
    }

    /// A text by which another process can open a notify. `for_all`: whoever it is.
    pub fn export_notify(&self, raw: usize, for_all: bool) -> Result<String> {
        let shared = self.own_notify(raw)?;
        if for_all {
            shared.open_to_all();
        }
        let SharedName { process, descriptor, nonce } = shared.name();
        Ok(format!("{PREFIX}{process:08x}{descriptor:08x}{nonce:016x}"))
    }

    /// Lets processes open a notify.
    pub fn allow_notify_processes(&self, raw: usize, processes: &[i32]) -> Result<()> {
        let shared = self.own_notify(raw)?;
        for process in processes {
            let Some(process) = u32::try_from(*process).ok().filter(|process| *process != 0) else {
                return fail(Error::Parameter(format!("{process} is not the number of a process")));
            };
            if !shared.admits(process) && !shared.admit(process) {
                return fail(Error::Parameter("no more processes can be admitted to the notify".to_owned()));
            }
        }
        Ok(())
    }

    /// Opens a notify that another process exported.
    pub fn import_notify(&self, text: &str) -> Result<NotifyKey> {
        self.context_or_default()?;
        let malformed = || Error::Parameter(format!("{text:?} is not the key of a notify"));
        let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == 32 && digits.is_ascii());
        let digits = digits.ok_or_else(malformed)?;
        let word = |range: std::ops::Range<usize>| u64::from_str_radix(&digits[range], 16).map_err(|_| malformed());
        let name = SharedName { process: word(0..8)? as u32, descriptor: word(8..16)? as u32, nonce: word(16..32)? };
        let gone = |error| Error::Parameter(format!("no process has such a notify (any more): {error}"));
        let shared = SharedCounters::open(name).map_err(gone)?;
        let process = std::process::id();
        if !shared.admits(process) {
            return fail(Error::Parameter(format!(
                "process {process} is not admitted: the exporter calls aclrtNotifySetImportPid, or exports with DISABLE_PID_VALIDATION"
            )));
        }
        let counter = Arc::new(Counter::imported(Arc::new(shared)));
        self.insert_notify(NotifyState { counter, is_imported: true, ..NotifyState::default() })
    }

    /// The shared part of a notify that this process has made.
    fn own_notify(&self, raw: usize) -> Result<Arc<SharedCounters>> {
        let (_, notify) = self.notify(raw, false)?;
        let (counter, is_imported) = {
            let state = lock(&notify.state);
            (Arc::clone(&state.counter), state.is_imported)
        };
        if is_imported {
            return fail(Error::Parameter("the notify was imported: only its maker can share it".to_owned()));
        }
        let none = |error| Error::Feature(format!("no memory file for the notify: {error}"));
        Ok(counter.share().map_err(none)?)
    }

    /// For an observer: the record that a new wait is for, if there is one, and the wait.
    fn pair_wait(&self, notify: &Notify, stream: StreamKey) -> (Option<StreamPoint>, StreamPoint) {
        let point = self.machine.next_point(stream);
        let mut state = lock(&notify.state);
        let record = state.record.take();
        if record.is_none() {
            state.waits.push_back(point);
        }
        (record, point)
    }

    /// The same the other way round.
    fn pair_record(&self, notify: &Notify, point: StreamPoint) {
        let Some(probe) = self.machine.probe() else { return };
        let mut state = lock(&notify.state);
        // A captured record has no place yet.
        if state.is_counting || point.sequence == 0 {
            return;
        }
        match state.waits.pop_front() {
            Some(wait) => probe.ordered(wait.into(), point.into()),
            // With two records before a wait, either may be the one that lets it pass.
            None => state.record = Some(state.record.unwrap_or(point)),
        }
    }

    fn notify_stream(&self, raw: usize) -> Result<(StreamKey, &Stream, ContextKey)> {
        let explicit = self.explicit_stream(raw)?;
        let (context, _) = self.context()?;
        let (key, stream) = explicit.map_or_else(|| self.stream(0), Ok)?;
        if stream.context() != Some(context) {
            return fail(self.machine.other_context("stream", stream, context));
        }
        Ok((key, stream, context))
    }

    fn notify(&self, raw: usize, is_counting: bool) -> Result<(NotifyKey, &Notify)> {
        let what = if is_counting { HandleKind::CountingNotify } else { HandleKind::Notify };
        let unknown = || Error::Handle { what, handle: raw };
        let key = NotifyKey::from_raw(raw).ok_or_else(unknown)?;
        let notify = self.machine.notifies.get(key).ok_or_else(unknown)?;
        if lock(&notify.state).is_counting != is_counting {
            return fail(unknown());
        }
        Ok((key, notify))
    }
}
