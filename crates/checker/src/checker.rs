//! The observer: engine callbacks update the state, and `report` returns the findings.

use crate::api::ApiFunction;
use crate::backtrace::SymbolCache;
use crate::call::{call, set_call, thread};
use crate::finding::{Participant, Report, Severity};
use crate::guard::{FUNCTION, Guard};
use crate::operation::{Launch, Operation};
use crate::python;
use crate::snapshot::SourceSnapshot;
use crate::state::{Findings, InFlight, LiveObject, NewOperation, PendingFinding, State, micros};
use softacl_engine::observer::{
    AccessKind, Advisory, FaultAction, Function, Mark, Mode, Object, Observer, Origin, StreamPosition, Submitted,
    TaskKind, Touch, Window,
};
use softacl_engine::{Error, MemoryKind, lock_with_timeout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Observes one machine and collects findings.
pub struct Checker {
    start: Instant,
    state: Mutex<State>,
    findings: Arc<Findings>,
    guard: OnceLock<Guard>,
    /// The state lock was waited for at the end of the process and is held by a thread that never releases it.
    is_abandoned: AtomicBool,
}

/// Properties of the run for the report.
#[derive(Debug, Clone, Default)]
pub struct RunInfo {
    pub soc: String,
    pub schedule: String,
    pub seed: Option<u64>,
    /// Texts of task failures that no wait returned.
    pub unobserved: Vec<String>,
    /// Fault-injection summary, one line per rule.
    pub faults: Vec<String>,
    /// The process ends abnormally: unreleased objects and unobserved errors mean nothing.
    pub is_abnormal_exit: bool,
}

impl Default for Checker {
    fn default() -> Self {
        let state = State::default();
        Checker {
            start: Instant::now(),
            findings: Arc::clone(&state.findings),
            state: Mutex::new(state),
            guard: OnceLock::new(),
            is_abandoned: AtomicBool::new(false),
        }
    }
}

impl Checker {
    /// Builds the report at the end of the program.
    pub fn report(&self, run: RunInfo) -> Report {
        let mut names = SymbolCache::default();
        let mut recent = Vec::new();
        if let Some(mut state) = self.last_state().map(|state| self.with_accesses_processed(state)) {
            if !run.is_abnormal_exit {
                state.check_unobserved(&run.unobserved);
                state.check_leaks();
            }
            recent.extend(state.recent.iter().cloned());
        }
        // Symbolization is slow, so it runs without the state lock.
        let timeline = recent.iter().map(|operation| operation.to_reported(Vec::new(), &mut names)).collect();
        let list = self.findings.last();
        let mut findings: Vec<_> =
            list.iter().flat_map(|list| list.iter()).map(|found| resolve(found, &mut names)).collect();
        findings.sort_by_key(|finding| finding.severity);
        Report {
            program: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            soc: run.soc,
            schedule: run.schedule,
            seed: run.seed,
            findings,
            suppressed: 0,
            notes: self.notes(),
            faults: run.faults,
            timeline,
        }
    }

    /// Sets the callback for the first proven finding.
    pub fn on_first_proven(&self, call: fn()) {
        self.state().on_first_proven = Some(call);
    }

    /// True if the state lock is abandoned: a signal handler that interrupted the checker is ending the process. Does
    /// not allocate, because the handler may have interrupted the allocator too.
    pub fn is_lock_abandoned(&self) -> bool {
        self.last_state().is_none()
    }

    /// Locks the state at the end of the process. Returns `None` if the lock is abandoned.
    fn last_state(&self) -> Option<MutexGuard<'_, State>> {
        if self.is_abandoned.load(Ordering::Relaxed) {
            return None;
        }
        let state = lock_with_timeout(&self.state);
        self.is_abandoned.store(state.is_none(), Ordering::Relaxed);
        state
    }

    fn notes(&self) -> Vec<String> {
        let is_exhausted = self.guard.get().is_some_and(|guard| guard.is_exhausted.load(Ordering::Relaxed));
        let notes = [
            (
                is_exhausted,
                "the system refused to protect more pages (vm.max_map_count): some accesses to pinned memory were \
                 not observed",
            ),
            (
                self.is_abandoned.load(Ordering::Relaxed),
                "a signal handler ended the process in the middle of a call: only earlier findings are reported",
            ),
        ];
        notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned()).collect()
    }

    /// Checks the `failIndex` of a failed batch copy (B3).
    pub fn batch_failed(&self, is_untouched: bool) {
        let mut state = self.state();
        let operation = state.operation(NewOperation { name: "call", at: None, touches: &[] }, self.start);
        state.check_fail_index(is_untouched, &operation);
    }

    /// Records that the calling thread is about to pass memory to a system call, through `function`.
    pub fn syscall_access(&self, start: usize, len: usize, is_write: bool, function: &'static str) {
        if let Some(guard) = self.guard.get().filter(|guard| guard.contains(start)) {
            guard.syscall_access(start, len, is_write, thread(), function);
        }
    }

    /// Records that the calling thread is about to use an object on which threads block.
    pub fn wait_object_used(&self, start: usize, len: usize) {
        if let Some(guard) = self.guard.get().filter(|guard| guard.contains(start) && !guard.is_exempt(start, len)) {
            let _state = self.state();
            guard.exempt(start, len);
        }
    }

    fn guard(&self) -> &Guard {
        self.guard.get().expect("`attached` is the first callback")
    }

    /// Locks the state and processes the host accesses since the last call.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.with_accesses_processed(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_accesses_processed<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if let Some(guard) = self.guard.get() {
            state.process_accesses(guard, self.start);
        }
        state
    }

    fn host_operation(&self, state: &mut State, name: &'static str, touches: &[Touch]) -> Arc<Operation> {
        state.operation(NewOperation { name, at: None, touches }, self.start)
    }

    /// Retires the tasks that the host clock includes, after it advanced.
    fn retire_completed(&self, state: &mut State) {
        let guard = self.guard();
        for task in state.take_retired(guard, micros(self.start)) {
            if !task.operation.touches.is_empty() {
                state.compare_retired(guard, &task);
            }
        }
        state.drop_unused_snapshots(guard);
    }
}

impl Observer for Checker {
    fn guards(&self) -> bool {
        true
    }

    fn attached(&self, pinned: Window) {
        // There is one machine per process. A second window is ignored.
        let _ = self.guard.set(Guard::new(pinned));
    }

    fn entered(&self, function: &'static Function) {
        let function = ApiFunction::from(function);
        set_call(function);
        python::enter();
        let is_deprecated = function.is_deprecated();
        let mut state = self.state();
        state.check_error_handled(function, thread());
        if function.selects_context() {
            state.context_resets.remove(&thread());
        }
        let is_late = state.finalized.is_some() && function.needs_runtime();
        if is_deprecated || is_late {
            let operation = self.host_operation(&mut state, "call", &[]);
            if is_deprecated {
                state.check_deprecated(function, &operation);
            }
            if is_late {
                state.check_finalized(function, &operation);
            }
        }
    }

    /// Nothing to do: the call site was captured at entry.
    fn exited(&self, _code: i32) {}

    fn call_failed(&self, function: &'static Function, error: &Error) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "call", &[]);
        state.check_refusal(function.into(), error, &operation);
    }

    fn finalized(&self, is_final: bool) {
        let mut state = self.state();
        state.finalized = is_final.then(|| self.host_operation(&mut state, "finalization", &[]));
    }

    fn submitted(&self, task: &Submitted<'_>) {
        let mut guarded = self.state();
        let state = &mut *guarded;
        let guard = self.guard();
        let operation = state
            .operation(NewOperation { name: task.kind.name(), at: Some(task.at), touches: task.touches }, self.start);
        state.record_order(task);
        if task.kind == TaskKind::BatchCopy {
            state.check_batch(&operation);
        }
        if let Some(start) = task.releases {
            state.check_free(start, &operation);
        }
        let pending = state.pending(&operation);
        if !pending.is_empty() {
            let clock = state.clocks.of(task.at);
            state.check_order(&operation, &clock, &pending);
            state.check_submitters(&operation, &pending);
        }
        if call().is_some_and(ApiFunction::requires_alignment) {
            state.check_alignment(&operation);
        }
        state.check_written(guard, &operation);
        state.record_written(guard, task.touches);
        state.add_in_flight(guard, task, operation);
    }

    fn launched(&self, lanes: &[u32], join: Option<StreamPosition>) {
        self.state().launches.extend(lanes.iter().map(|lane| (*lane, Launch { join })));
    }

    fn started(&self, at: StreamPosition) {
        let mut state = self.state();
        let time = micros(self.start);
        if let Some(task) = state.in_flight_task(at) {
            task.operation.start(time);
        }
        state.compare_sources_at(self.guard(), at);
    }

    fn failed(&self, at: StreamPosition, error: &Error) {
        let mut state = self.state();
        if let Some(operation) = state.in_flight_task(at).map(|task| Arc::clone(&task.operation)) {
            state.failures.push((operation, error.to_string()));
        }
    }

    fn finished(&self, at: StreamPosition) {
        let mut state = self.state();
        let operation = state.progress.entry(at.stream).or_default().finish(at);
        // A callback task without a waiter has left the queue and may not have run.
        state.host_function_finished(at);
        state.resolve_on_pass(at);
        if let Some(operation) = operation {
            operation.finish(micros(self.start));
            state.refresh(self.guard(), &operation.touches);
        }
    }

    fn function_entered(&self, at: StreamPosition) {
        FUNCTION.set(Some(at));
        // The function can report to the program that the tasks before it are finished.
        if at.sequence > 1 {
            let mut state = self.state();
            state.clocks.wait(StreamPosition { stream: at.stream, sequence: at.sequence - 1 });
            self.retire_completed(&mut state);
        }
    }

    fn function_left(&self, at: StreamPosition) {
        FUNCTION.set(None);
        let mut state = self.state();
        state.host_function_finished(at);
        // The function may have written the source of any later task, or allowed a thread to write it.
        state.resnapshot_after(at);
    }

    fn dropped(&self, at: StreamPosition) {
        let mut state = self.state();
        state.external_waits.retain(|wait| wait.stream != at.stream || wait.sequence > at.sequence);
        if let Some(functions) = state.host_functions.get_mut(&at.stream) {
            functions.retain(|sequence| *sequence > at.sequence);
        }
        let done = state.progress.get(&at.stream).map_or(0, |progress| progress.done);
        state.clocks.discard_tasks(at, done);
        self.retire_completed(&mut state);
        // Tasks that had started still finish.
        if let Some(progress) = state.progress.get_mut(&at.stream) {
            progress.retired.retain(|(_, operation)| operation.has_started());
        }
    }

    fn ordered(&self, from: StreamPosition, after: StreamPosition) {
        let mut state = self.state();
        match state.external_waits.contains(&from) {
            true => state.resolve_external_wait(from, &[after]),
            false => state.clocks.add_edges_late(from, &[after]),
        }
    }

    fn waited(&self, at: StreamPosition) {
        let mut state = self.state();
        if state.clocks.wait(at) {
            self.retire_completed(&mut state);
        }
    }

    fn access_started(&self, kind: AccessKind, touches: &[Touch]) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, kind.name(), touches);
        let host = state.clocks.host().clone();
        if kind == AccessKind::BatchCopy && touches.len() > 2 {
            state.check_batch(&operation);
        }
        let pending = state.pending(&operation);
        state.check_order(&operation, &host, &pending);
        state.check_written(self.guard(), &operation);
        state.record_written(self.guard(), touches);
        operation.start(micros(self.start));
    }

    fn access_finished(&self, touches: &[Touch], _is_done: bool) {
        let mut state = self.state();
        state.refresh(self.guard(), touches);
    }

    fn allocated(&self, kind: MemoryKind, start: usize, size: usize) {
        let mut state = self.state();
        let allocated_by = self.host_operation(&mut state, "allocation", &[]);
        self.guard().isolate(start, size);
        state.ledger.forget(start, size);
        state.written.remove(start, size);
        state.reclaimed.retain(|first, reclaimed| first + reclaimed.size <= start || start + size <= *first);
        state.allocations.insert(start, crate::state::Allocation { size, kind, allocated_by, is_registered: false });
    }

    fn freed(&self, _kind: MemoryKind, start: usize) {
        self.release(start);
    }

    fn registered(&self, start: usize, size: usize) {
        let mut state = self.state();
        let allocated_by = self.host_operation(&mut state, "registration", &[]);
        let allocation = crate::state::Allocation { size, kind: MemoryKind::Pinned, allocated_by, is_registered: true };
        state.allocations.insert(start, allocation);
    }

    fn unregistered(&self, start: usize) {
        self.release(start);
    }

    fn created(&self, object: Object, origin: Origin) {
        let mut state = self.state();
        let name = match (object, origin) {
            (Object::Stream(_), Origin::Runtime) => "default stream",
            _ => "creation",
        };
        let created_by = self.host_operation(&mut state, name, &[]);
        state.reset_objects.remove(&object);
        if let Object::Stream(stream) = object {
            state.launches.remove(&stream);
        }
        state.objects.insert(object, LiveObject { created_by, origin });
        if let Object::Event(event) = object {
            state.event_uses.remove(&event);
        }
    }

    fn ending(&self, object: Object, by_force: bool) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "destruction", &[]);
        state.check_ending(object, by_force, &operation);
        state.objects.remove(&object);
        if call().is_some_and(ApiFunction::resets_device) {
            state.reset_objects.insert(object, operation);
        }
    }

    fn device_cleared(&self, device: u32) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "reset", &[]);
        state.reclaim(device, &operation);
        state.context_resets.insert(operation.thread, operation);
    }

    /// Ignored: a mark accesses nothing.
    fn marked(&self, _mark: &Mark<'_>) {}

    fn advised(&self, note: &Advisory) {
        let mut state = self.state();
        if let Advisory::Viewed { address, len } = note {
            state.written.insert(*address, *len);
            return;
        }
        let operation = self.host_operation(&mut state, "call", &[]);
        state.check_note(note, &operation);
    }

    fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction {
        self.guard.get().map_or(FaultAction::PassOn, |guard| guard.touched(address, is_write, thread(), code))
    }

    fn stepped(&self) {
        if let Some(guard) = self.guard.get() {
            guard.stepped();
        }
    }
}

impl State {
    /// Records what a submitted task waits for, and what may wait for it.
    fn record_order(&mut self, task: &Submitted<'_>) {
        self.clocks.submit(task.at, task.after);
        if task.is_external_wait {
            // A missed finding is better than a false one: any earlier submit may resolve the wait.
            for (stream, progress) in &self.progress {
                self.clocks.order(task.at, StreamPosition { stream: *stream, sequence: progress.newest });
            }
            if task.after.is_none() {
                self.external_waits.push(task.at);
            }
        }
        if task.is_host_function {
            self.host_functions.entry(task.at.stream).or_default().insert(task.at.sequence);
        }
        if let Some(event) = task.event {
            let uses = self.event_uses.entry(event).or_default();
            uses.retain(|at| !self.clocks.host().includes(*at));
            uses.push(task.at);
        }
    }

    /// Puts a submitted task in flight: enters its accesses, protects pinned memory, and takes snapshots of other
    /// host sources.
    fn add_in_flight(&mut self, guard: &Guard, task: &Submitted<'_>, operation: Arc<Operation>) {
        let mut snapshots = Vec::new();
        for touch in task.touches {
            self.ledger.enter(touch, task.at, &operation, self.clocks.host());
            if guard.contains(touch.address) {
                guard.add(touch);
            } else if touch.mode == Mode::Read
                && self.allocation(touch.address).is_none_or(|(_, allocation)| !allocation.kind.is_device())
            {
                snapshots.extend(SourceSnapshot::take(touch.address, touch.len));
            }
        }
        self.snapshot_count += snapshots.len();
        let since = operation.sequence;
        let entry = InFlight { at: task.at, operation, is_compared: false, is_reported: false, since, snapshots };
        let progress = self.progress.entry(task.at.stream).or_default();
        progress.newest = task.at.sequence;
        progress.in_flight.push_back(entry);
    }
}

impl Checker {
    fn release(&self, start: usize) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "release", &[]);
        state.check_free(start, &operation);
        if let Some(released) = state.allocations.remove(&start) {
            state.ledger.forget(start, released.size);
            state.written.remove(start, released.size);
            self.guard().clear(start, released.size);
        }
        state.drop_unused_snapshots(self.guard());
    }
}

fn resolve(found: &PendingFinding, names: &mut SymbolCache) -> crate::finding::Finding {
    let participants: Vec<Participant> = found
        .evidence
        .iter()
        .map(|evidence| Participant {
            role: evidence.role.to_owned(),
            operation: evidence.operation.to_reported(evidence.ranges.clone(), names),
        })
        .collect();
    let fingerprint = std::iter::once(found.id.to_string())
        .chain(participants.iter().map(Participant::site))
        .collect::<Vec<_>>()
        .join(" ");
    crate::finding::Finding {
        id: found.id.to_string(),
        severity: found.severity,
        message: found.message.clone(),
        fix: found.fix.clone(),
        count: found.count,
        operations: participants,
        fingerprint,
    }
}

const _: () = assert!(Severity::Proven as u8 == 0, "proven findings sort first");
