//! The observer itself: facts of the engine on one side, the report on the other.

use crate::backtrace::SymbolCache;
use crate::finding::{Participant, Report, Severity};
use crate::guard::{FUNCTION, Guard};
use crate::operation::Launch;
use crate::python;
use crate::snapshot::SourceSnapshot;
use crate::state::{Findings, InFlight, NewOperation, PendingFinding, State, call, micros, set_call, thread};
use softacl_engine::observer::{
    Advisory, FaultAction, Function, Mode, Object, Observer, StreamPosition, Submitted, Touch, Window,
};
use softacl_engine::{Error, MemoryKind, lock_with_timeout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

pub struct Checker {
    start: Instant,
    state: Mutex<State>,
    findings: Arc<Findings>,
    guard: OnceLock<Guard>,
    /// The books were waited for at the end of the process, and are held for good.
    is_stuck: AtomicBool,
}

/// What a report says about the run.
#[derive(Debug, Clone, Default)]
pub struct RunInfo {
    pub soc: String,
    pub schedule: String,
    pub seed: Option<u64>,
    /// Failures of tasks that no wait returned.
    pub unobserved: Vec<String>,
    /// What became of fault rules, a line for each.
    pub faults: Vec<String>,
    /// The process ends in the middle of its work: that nobody has freed or asked means nothing.
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
            is_stuck: AtomicBool::new(false),
        }
    }
}

impl Checker {
    /// Everything that was found, at the end of the program.
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
        // Names take long: nobody has to wait for them.
        let timeline = recent.iter().map(|operation| operation.shown(Vec::new(), &mut names)).collect();
        let list = self.findings.last();
        let mut findings: Vec<_> =
            list.iter().flat_map(|list| list.iter()).map(|found| shown(found, &mut names)).collect();
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

    /// Called once, when something is proven for the first time.
    pub fn on_first_proven(&self, call: fn()) {
        self.state().when_proven = Some(call);
    }

    /// Whether the process is ended by a signal handler that has interrupted the checker: the thread that holds its
    /// books never goes on. Allocates nothing, because the allocator may have been interrupted too.
    pub fn is_lock_abandoned(&self) -> bool {
        self.last_state().is_none()
    }

    /// The books at the end of the process.
    fn last_state(&self) -> Option<MutexGuard<'_, State>> {
        if self.is_stuck.load(Ordering::Relaxed) {
            return None;
        }
        let state = lock_with_timeout(&self.state);
        self.is_stuck.store(state.is_none(), Ordering::Relaxed);
        state
    }

    fn notes(&self) -> Vec<String> {
        let is_exhausted = self.guard.get().is_some_and(|guard| guard.is_exhausted.load(Ordering::Relaxed));
        let notes = [
            (
                is_exhausted,
                "the system refused to protect more pages (vm.max_map_count): some touches of pinned memory were not seen",
            ),
            (
                self.is_stuck.load(Ordering::Relaxed),
                "a signal handler has ended the process in the middle of a call: only what was found before is here",
            ),
        ];
        notes.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note.to_owned()).collect()
    }

    /// A batch failed; what its fail index says.
    pub fn batch_failed(&self, is_untouched: bool) {
        let mut state = self.state();
        let operation = state.operation(NewOperation { name: "call", at: None, touches: &[] }, self.start);
        state.check_fail_index(is_untouched, &operation);
    }

    /// The calling thread is about to give memory to the system, with this function.
    pub fn syscall_access(&self, start: usize, len: usize, is_write: bool, function: &'static str) {
        if let Some(guard) = self.guard.get().filter(|guard| guard.contains(start)) {
            guard.syscall_access(start, len, is_write, thread(), function);
        }
    }

    /// The calling thread is about to use an object on which threads wait.
    pub fn wait_object_used(&self, start: usize, len: usize) {
        if let Some(guard) = self.guard.get().filter(|guard| guard.contains(start) && !guard.is_kept_open(start, len)) {
            let _state = self.state();
            guard.exempt(start, len);
        }
    }

    fn guard(&self) -> &Guard {
        self.guard.get().expect("a machine tells where its memory is before anything else")
    }

    /// The books, after what the host did since the last call is entered.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.with_accesses_processed(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_accesses_processed<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if let Some(guard) = self.guard.get() {
            state.process_accesses(guard, self.start);
        }
        state
    }

    fn host_operation(
        &self,
        state: &mut State,
        name: &'static str,
        touches: &[Touch],
    ) -> std::sync::Arc<crate::operation::Operation> {
        state.operation(NewOperation { name, at: None, touches }, self.start)
    }

    /// The host knows of more: flights that it knows to be over are over.
    fn retire_completed(&self, state: &mut State) {
        let guard = self.guard();
        for flight in state.land(guard, micros(self.start)) {
            if !flight.operation.touches.is_empty() {
                state.compare_landed(guard, &flight);
            }
        }
        state.forget_before(guard);
    }
}

impl Observer for Checker {
    fn guards(&self) -> bool {
        true
    }

    fn attached(&self, pinned: Window) {
        // One machine per process; a second one would be told apart by nothing.
        let _ = self.guard.set(Guard::new(pinned));
    }

    fn entered(&self, called: &'static Function) {
        let (function, deprecated) = (called.name, called.deprecated);
        set_call(function);
        python::enter();
        let mut state = self.state();
        state.check_error_handled(function, thread());
        if matches!(function, "aclrtSetDevice" | "aclrtSetCurrentContext" | "aclrtCreateContext") {
            state.resets.remove(&thread());
        }
        let late = state.finalized.is_some() && function.starts_with("aclrt") && !function.starts_with("aclrtGet");
        if deprecated || late {
            let operation = self.host_operation(&mut state, "call", &[]);
            if deprecated {
                state.check_deprecated(function, &operation);
            }
            if late {
                state.check_finalized(function, &operation);
            }
        }
    }

    /// What counts is where a call was made, which is known as long as it lasts and after it.
    fn exited(&self, _code: i32) {}

    fn call_failed(&self, function: &'static Function, error: &Error) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "call", &[]);
        state.check_refusal(function.name, error, &operation);
    }

    fn finalized(&self, is_final: bool) {
        let mut state = self.state();
        state.finalized = is_final.then(|| self.host_operation(&mut state, "finalization", &[]));
    }

    fn submitted(&self, task: &Submitted<'_>) {
        let mut guarded = self.state();
        let state = &mut *guarded;
        let guard = self.guard();
        let operation =
            state.operation(NewOperation { name: task.name, at: Some(task.at), touches: task.touches }, self.start);
        state.clocks.submit(task.at, task.after);
        if task.is_external_wait {
            // Better no finding than a wrong one: the sign may come from whatever was submitted before.
            for (stream, course) in &state.courses {
                state.clocks.order(task.at, StreamPosition { stream: *stream, sequence: course.newest });
            }
            if task.after.is_none() {
                state.external_waits.push(task.at);
            }
        }
        if task.is_host_function {
            state.functions.entry(task.at.stream).or_default().insert(task.at.sequence);
        }
        if let Some(event) = task.event {
            let uses = state.event_uses.entry(event).or_default();
            uses.retain(|at| !state.clocks.host().includes(*at));
            uses.push(task.at);
        }
        if task.is_batch {
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
        state.check_alignment(&operation);
        state.check_written(guard, &operation);
        state.record_written(guard, task.touches);
        let mut prints = Vec::new();
        for touch in task.touches {
            state.ledger.enter(touch, task.at, &operation, state.clocks.host());
            if guard.contains(touch.address) {
                guard.add(touch);
            } else if touch.mode == Mode::Read
                && state.allocation(touch.address).is_none_or(|(_, allocation)| !allocation.place.is_device())
            {
                prints.extend(SourceSnapshot::take(touch.address, touch.len));
            }
        }
        state.printed += prints.len();
        let since = operation.number;
        let flight = InFlight { at: task.at, operation, is_compared: false, is_reported: false, since, prints };
        let course = state.courses.entry(task.at.stream).or_default();
        course.newest = task.at.sequence;
        course.flights.push_back(flight);
    }

    fn launched(&self, lanes: &[u32], join: Option<StreamPosition>) {
        self.state().launches.extend(lanes.iter().map(|lane| (*lane, Launch { join })));
    }

    fn started(&self, at: StreamPosition) {
        let mut state = self.state();
        let time = micros(self.start);
        if let Some(flight) = state.flight(at) {
            flight.operation.start(time);
        }
        state.compare_sources_at(self.guard(), at);
    }

    fn failed(&self, at: StreamPosition, error: &Error) {
        let mut state = self.state();
        if let Some(operation) = state.flight(at).map(|flight| std::sync::Arc::clone(&flight.operation)) {
            state.failures.push((operation, error.to_string()));
        }
    }

    fn finished(&self, at: StreamPosition) {
        let mut state = self.state();
        let operation = state.courses.entry(at.stream).or_default().finish(at);
        // A callback that nothing waits for is queued no longer, and may not have run.
        state.function_over(at);
        state.resolve_on_pass(at);
        if let Some(operation) = operation {
            operation.finish(micros(self.start));
            state.refresh(self.guard(), &operation.touches);
        }
    }

    fn function_entered(&self, at: StreamPosition) {
        FUNCTION.set(Some(at));
        // Whatever the function tells the program, it can tell that what comes before it is done.
        if at.sequence > 1 {
            let mut state = self.state();
            state.clocks.wait(StreamPosition { stream: at.stream, sequence: at.sequence - 1 });
            self.retire_completed(&mut state);
        }
    }

    fn function_left(&self, at: StreamPosition) {
        FUNCTION.set(None);
        let mut state = self.state();
        state.function_over(at);
        // It may have written any source of what comes after it, or let others write it.
        state.resnapshot_after(at);
    }

    fn dropped(&self, at: StreamPosition) {
        let mut state = self.state();
        state.external_waits.retain(|sign| sign.stream != at.stream || sign.sequence > at.sequence);
        if let Some(functions) = state.functions.get_mut(&at.stream) {
            functions.retain(|sequence| *sequence > at.sequence);
        }
        let done = state.courses.get(&at.stream).map_or(0, |course| course.done);
        state.clocks.discard_tasks(at, done);
        self.retire_completed(&mut state);
        // What had started still ends.
        if let Some(course) = state.courses.get_mut(&at.stream) {
            course.retired.retain(|(_, operation)| operation.has_started());
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

    fn access_started(&self, name: &'static str, touches: &[Touch]) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, name, touches);
        let host = state.clocks.host().clone();
        if touches.len() > 2 && name.contains("batch") {
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

    fn allocated(&self, place: MemoryKind, start: usize, size: usize) {
        let mut state = self.state();
        let made = self.host_operation(&mut state, "allocation", &[]);
        self.guard().isolate(start, size);
        state.ledger.forget(start, size);
        state.written.remove(start, size);
        state.taken.retain(|taken, gone| taken + gone.size <= start || start + size <= *taken);
        state.allocations.insert(start, crate::state::Allocation { size, place, made, is_registered: false });
    }

    fn freed(&self, _place: MemoryKind, start: usize) {
        self.give_back(start);
    }

    fn registered(&self, start: usize, size: usize) {
        let mut state = self.state();
        let made = self.host_operation(&mut state, "registration", &[]);
        let allocation = crate::state::Allocation { size, place: MemoryKind::Pinned, made, is_registered: true };
        state.allocations.insert(start, allocation);
    }

    fn unregistered(&self, start: usize) {
        self.give_back(start);
    }

    fn created(&self, object: Object) {
        let mut state = self.state();
        let is_default =
            matches!(object, Object::Stream(_)) && call().is_none_or(|call| !call.starts_with("aclrtCreateStream"));
        let made = self.host_operation(&mut state, if is_default { "default stream" } else { "creation" }, &[]);
        state.reset.remove(&object);
        if let Object::Stream(stream) = object {
            state.launches.remove(&stream);
        }
        state.objects.insert(object, made);
        if let Object::Event(event) = object {
            state.event_uses.remove(&event);
        }
    }

    fn ending(&self, object: Object, by_force: bool) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "destruction", &[]);
        state.check_ending(object, by_force, &operation);
        state.objects.remove(&object);
        if call().is_some_and(|call| call.starts_with("aclrtResetDevice")) {
            state.reset.insert(object, operation);
        }
    }

    fn device_cleared(&self, device: u32) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "reset", &[]);
        state.clear(device, &operation);
        state.resets.insert(operation.thread, operation);
    }

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

impl Checker {
    fn give_back(&self, start: usize) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "release", &[]);
        state.check_free(start, &operation);
        if let Some(gone) = state.allocations.remove(&start) {
            state.ledger.forget(start, gone.size);
            state.written.remove(start, gone.size);
            self.guard().clear(start, gone.size);
        }
        state.forget_before(self.guard());
    }
}

fn shown(found: &PendingFinding, names: &mut SymbolCache) -> crate::finding::Finding {
    let parts: Vec<Participant> = found
        .evidence
        .iter()
        .map(|evidence| Participant {
            role: evidence.role.to_owned(),
            operation: evidence.operation.shown(evidence.ranges.clone(), names),
        })
        .collect();
    let fingerprint =
        std::iter::once(found.id.to_owned()).chain(parts.iter().map(Participant::site)).collect::<Vec<_>>().join(" ");
    crate::finding::Finding {
        id: found.id.to_owned(),
        severity: found.severity,
        message: found.message.clone(),
        fix: found.fix.clone(),
        count: found.count,
        operations: parts,
        fingerprint,
    }
}

const _: () = assert!(Severity::Proven as u8 == 0, "proven findings sort first");
