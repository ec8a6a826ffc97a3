//! Notifies: creating, recording, waiting, sharing with other processes.

use crate::caller::{Caller, Submission};
use crate::keys::{ContextKey, NotifyKey, StreamKey, StreamPoint};
use crate::notify::{Compare, Counter, CounterOp, Notify, NotifyState};
use crate::order::Footprint;
use crate::stream::Stream;
use crate::task::Control;
use crate::task::external_wait::{ExternalWait, WaitCondition};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_memory::shared::{SharedCounters, SharedName};
use softacl_sync::facade::{Ordering, lock};
use std::sync::Arc;
use std::time::Duration;

/// Prefix of every key.
const PREFIX: &str = "softacl-notify-";
impl Caller<'_> {
    /// Creates a plain notify.
    pub fn create_notify(&self) -> Result<NotifyKey> {
        let (_, context) = self.context()?;
        let device = context.device();
        let limit = self.machine.config.profile.chip.limits.notifies;
        let in_use = &self.machine.devices[device as usize].notifies;
        if in_use.fetch_add(1, Ordering::AcqRel) >= limit {
            in_use.fetch_sub(1, Ordering::AcqRel);
            return fail(Error::NoNotify { device, limit, soc: self.machine.config.profile.soc.clone() });
        }
        self.insert_notify(NotifyState { counted_on: Some(device), ..NotifyState::default() }).inspect_err(|_| {
            in_use.fetch_sub(1, Ordering::AcqRel);
        })
    }

    /// Creates a counting notify.
    pub fn create_counting_notify(&self) -> Result<NotifyKey> {
        self.context()?;
        self.insert_notify(NotifyState { is_counting: true, ..NotifyState::default() })
    }

    fn insert_notify(&self, state: NotifyState) -> Result<NotifyKey> {
        let open = |notify: &Notify, _| *lock(&notify.state) = state;
        self.machine.notifies.insert(open).ok_or_else(|| Box::new(Error::NoHandle("notify")))
    }

    /// Ends a notify. Records and waits that are queued stay valid.
    pub fn destroy_notify(&self, raw: usize, is_counting: bool) -> Result<()> {
        let (key, notify) = self.notify(raw, is_counting)?;
        let (counter, is_imported) = {
            let state = lock(&notify.state);
            (Arc::clone(&state.counter), state.is_imported)
        };
        if !is_imported {
            self.machine.check_shared_unused("notify", || counter.users());
        }
        if !self.machine.notifies.retire(key) {
            return fail(Error::Handle { what: HandleKind::Notify, handle: raw });
        }
        // Before the slot is recycled: afterwards it belongs to another notify.
        let ended = std::mem::take(&mut *lock(&notify.state));
        if let Some(device) = ended.counted_on {
            self.machine.devices[device as usize].notifies.fetch_sub(1, Ordering::AcqRel);
        }
        self.machine.notifies.recycle(key);
        Ok(())
    }

    /// Id of a notify.
    pub fn notify_id(&self, raw: usize, is_counting: bool) -> Result<u32> {
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
        let (counter, is_imported) = {
            let state = lock(&notify.state);
            (Arc::clone(&state.counter), state.is_imported)
        };
        let in_use = self.machine.observer().filter(|_| is_imported).and_then(|_| counter.in_use());
        let counter = in_use.map_or(counter, Arc::new);
        let sequence = self.machine.submit(key, stream, context, Control::Change { counter, change })?;
        self.pair_record(notify, StreamPoint { stream: key, sequence });
        Ok(())
    }

    /// Queues a wait that consumes the record. Without a timeout it waits without bound.
    pub fn wait_notify(&self, raw: usize, stream: usize, timeout: Option<Duration>) -> Result<()> {
        self.queue_notify_wait(raw, stream, Compare::Equal(1), true, timeout, false)
    }

    /// Queues a wait for a counting notify. `clears` sets the number to 0 when the stream passes.
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
        if lock(&notify.state).is_imported {
            return fail(Error::Parameter(
                "the notify was imported: only the process that created it can wait for it".to_owned(),
            ));
        }
        let (key, stream, context) = self.notify_stream(stream)?;
        let counter = Arc::clone(&lock(&notify.state).counter);
        let condition = WaitCondition::Notify { counter, compare, clears };
        let wait = ExternalWait::new(condition).within(timeout);
        let submit = |wait| self.machine.submit(key, stream, context, Control::Await(Arc::new(wait)));
        // Which records make up a number is unknown until the number is reached.
        if self.machine.observer().is_none() || is_counting {
            return submit(wait).map(|_| ());
        }
        let (after, point) = self.pair_wait(notify, key);
        let submitted = submit(wait.after(after));
        if submitted.as_ref().map_or(0, |sequence| *sequence) == 0 {
            // The wait was refused or captured, so no record resolves it.
            let mut state = lock(&notify.state);
            state.waits.retain(|wait| *wait != point);
            state.record = state.record.or(after);
        }
        submitted.map(|_| ())
    }

    /// Clears pending records, immediately.
    pub fn reset_notifies(&self, all: &[usize]) -> Result<()> {
        let notifies: Result<Vec<&Notify>> = all.iter().map(|raw| Ok(self.notify(*raw, false)?.1)).collect();
        for notify in notifies? {
            let mut state = lock(&notify.state);
            state.record = None;
            state.counter.update(|_| Some(0));
            let notifies = vec![Arc::as_ptr(&state.counter) as u64];
            self.machine.host_touched(|| Footprint { notifies, ..Footprint::default() });
        }
        self.machine.poll_external_waits();
        Ok(())
    }

    /// Exports a notify and returns its key. `for_all` admits every process.
    pub fn export_notify(&self, raw: usize, for_all: bool) -> Result<String> {
        let shared = self.own_notify(raw)?;
        if for_all {
            shared.open_to_all();
        }
        self.machine.begin_sharing();
        let SharedName { process, descriptor, nonce } = shared.name();
        Ok(format!("{PREFIX}{process:08x}{descriptor:08x}{nonce:016x}"))
    }

    /// Allows processes to open a notify.
    pub fn allow_notify_processes(&self, raw: usize, processes: &[i32]) -> Result<()> {
        let shared = self.own_notify(raw)?;
        for process in processes {
            let Some(process) = u32::try_from(*process).ok().filter(|process| *process != 0) else {
                return fail(Error::Parameter(format!("{process} is not a process id")));
            };
            if !shared.is_allowed(process) && !shared.allow(process) {
                return fail(Error::Parameter("no more processes can be admitted to the notify".to_owned()));
            }
        }
        Ok(())
    }

    /// Opens a notify that another process exported.
    pub fn import_notify(&self, text: &str) -> Result<NotifyKey> {
        self.context()?;
        let malformed = || Error::Parameter(format!("{text:?} is not the key of a notify"));
        // Upper-case digits would make several texts of one key.
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == 32 && digits.bytes().all(is_digit));
        let digits = digits.ok_or_else(malformed)?;
        let word = |range: std::ops::Range<usize>| u64::from_str_radix(&digits[range], 16).map_err(|_| malformed());
        let name = SharedName { process: word(0..8)? as u32, descriptor: word(8..16)? as u32, nonce: word(16..32)? };
        let not_exported = |error| Error::Parameter(format!("no process exports this notify (anymore): {error}"));
        let opened = SharedCounters::open(name).inspect_err(|_| self.machine.check_ended("notify", name));
        let shared = opened.map_err(not_exported)?;
        let process = std::process::id();
        if !shared.is_allowed(process) {
            return fail(Error::Parameter(format!(
                "process {process} is not admitted: the exporter calls aclrtNotifySetImportPid, or exports with DISABLE_PID_VALIDATION"
            )));
        }
        self.machine.begin_sharing();
        let counter = Arc::new(Counter::imported(Arc::new(shared)));
        self.insert_notify(NotifyState { counter, is_imported: true, ..NotifyState::default() })
    }

    /// The shared counters of a notify that this process created.
    fn own_notify(&self, raw: usize) -> Result<Arc<SharedCounters>> {
        let (_, notify) = self.notify(raw, false)?;
        let (counter, is_imported) = {
            let state = lock(&notify.state);
            (Arc::clone(&state.counter), state.is_imported)
        };
        if is_imported {
            return fail(Error::Parameter(
                "the notify was imported: only the process that created it can share it".to_owned(),
            ));
        }
        let none = |error| Error::Feature(format!("no memory file for the notify: {error}"));
        Ok(counter.share().map_err(none)?)
    }

    /// For observers: returns the record that resolves a new wait, if it is queued, and the point of the wait.
    fn pair_wait(&self, notify: &Notify, stream: StreamKey) -> (Option<StreamPoint>, StreamPoint) {
        let point = self.machine.next_point(stream);
        let mut state = lock(&notify.state);
        let record = state.record.take();
        if record.is_none() {
            state.waits.push_back(point);
        }
        (record, point)
    }

    /// For observers: resolves the oldest pending wait with a new record, or keeps the record for a later wait.
    fn pair_record(&self, notify: &Notify, point: StreamPoint) {
        let Some(observer) = self.machine.observer() else { return };
        let mut state = lock(&notify.state);
        // A captured record has no point yet.
        if state.is_counting || point.sequence == 0 {
            return;
        }
        match state.waits.pop_front() {
            Some(wait) => observer.ordered(wait.into(), point.into()),
            // With two records before a wait, either can be the one that resolves it.
            None => state.record = Some(state.record.unwrap_or(point)),
        }
    }

    fn notify_stream(&self, raw: usize) -> Result<(StreamKey, &Stream, ContextKey)> {
        let Submission { key, stream, context } = self.own_submission(self.explicit_stream(raw)?)?;
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
