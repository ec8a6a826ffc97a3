//! The checker: its state, its lock, and the report. What it does at each callback of the engine is in `observer`.

use crate::backtrace::SymbolCache;
use crate::call::coarse_monotonic_ns;
use crate::finding::{FindingId, Participant, ProcessAccesses, Report, Severity};
use crate::guard::Guard;
use crate::operation::Operation;
use crate::picture::Picture;
use crate::shared_log::SharedLog;
use crate::state::{Findings, NewOperation, PendingFinding, State, micros};
use crate::unjudged::{self, Subject};
use softacl_engine::lock_with_timeout;
use softacl_engine::observer::Touch;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Why pages were not judged.
const PAGES_REFUSED: &str =
    "the system refused to protect more pages (vm.max_map_count), so accesses to pinned memory were not observed";

const DEBUGGED: &str = "a debugger is attached, so the accesses to the page were not single-stepped: reads of \
                        destinations, until the next call, were not observed";
const PAGES_LEFT_OPEN: &str = "left unprotected until the next call, after many accesses beside the copies: reads of \
                               destinations were not observed";
const INTERRUPTING: &str = "made by a signal handler of the program that interrupted a call of the runtime";
const IN_CHILD: &str = "made by a forked child, in pinned memory that was in flight when it was forked";

/// Description of a call that was kept because [`Checker::narrate`] was called.
pub const NARRATED_CALL: &str = "API call";

/// Observes one machine and collects findings.
pub struct Checker {
    pub(crate) start: Instant,
    pub(crate) state: Mutex<State>,
    findings: Arc<Findings>,
    pub(crate) guard: OnceLock<Guard>,
    /// Number of threads that are held until host functions have returned, and what wakes them.
    pub(crate) held_threads: AtomicUsize,
    pub(crate) function_changed: Condvar,
    /// Every call is kept for the timeline.
    pub(crate) is_narrated: AtomicBool,
    /// The state lock was waited for at the end of the process and is held by a thread that never releases it.
    is_abandoned: AtomicBool,
    /// Set when it is proven that the program hangs.
    has_hang: AtomicBool,
    /// The next entry into a function must look at the state: an error, a reset or the finalization came before it.
    pub(crate) has_entry_checks: AtomicBool,
    /// When the program last made a call or finished a task, on the monotonic clock.
    last_progress: AtomicU64,
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
    /// The report has no timeline, and its locations are modules and offsets.
    pub is_brief: bool,
    /// Who waits for whom, if the process is stopped while it waits.
    pub waits: Option<Picture>,
    /// The process ends abnormally: unreleased objects and unobserved errors mean nothing.
    pub is_abnormal_exit: bool,
    /// The process ends: nothing waits for pending tasks any more.
    pub is_exit: bool,
}

impl Default for Checker {
    fn default() -> Self {
        let state = State::default();
        Checker {
            start: Instant::now(),
            findings: Arc::clone(&state.findings),
            state: Mutex::new(state),
            guard: OnceLock::new(),
            is_narrated: AtomicBool::new(false),
            held_threads: AtomicUsize::new(0),
            function_changed: Condvar::new(),
            is_abandoned: AtomicBool::new(false),
            has_hang: AtomicBool::new(false),
            has_entry_checks: AtomicBool::new(false),
            last_progress: AtomicU64::new(coarse_monotonic_ns()),
        }
    }
}

impl Checker {
    /// Builds the report at the end of the program.
    pub fn report(&self, run: RunInfo) -> Report {
        let mut names = SymbolCache::new(run.is_brief);
        let (mut recent, mut unjudged) = (Vec::new(), Vec::new());
        let (mut shared_log, mut files) = (SharedLog::default(), Vec::new());
        if let Some(mut state) = self.last_state().map(|state| self.with_accesses_processed(state)) {
            if !run.is_abnormal_exit {
                state.check_unobserved(&run.unobserved);
                if let Some(guard) = self.guard.get().filter(|_| run.is_exit && state.finalized.is_none()) {
                    state.check_end(guard, None);
                }
                state.check_leaks();
            }
            recent.extend(state.recent.iter().cloned());
            state.count_undecided();
            state.count_unjudged_reads();
            if let Some(guard) = self.guard.get() {
                let open = guard.pages_left_open.swap(0, Ordering::Relaxed);
                let children = guard.child_accesses.swap(0, Ordering::Relaxed);
                state.not_judged(&[FindingId::H1, FindingId::H3], Subject::Page, guard.refused_pages(), PAGES_REFUSED);
                let unstepped = guard.unstepped.swap(0, Ordering::Relaxed);
                state.not_judged(&[FindingId::H3], Subject::Page, open, PAGES_LEFT_OPEN);
                state.not_judged(&[FindingId::H3], Subject::Page, unstepped, DEBUGGED);
                state.not_judged(&[FindingId::H1, FindingId::H3], Subject::HostAccess, children, IN_CHILD);
                let interrupting = guard.interrupting.swap(0, Ordering::Relaxed);
                state.not_judged(&[FindingId::H1, FindingId::H3], Subject::HostAccess, interrupting, INTERRUPTING);
            }
            unjudged = state.unjudged.list();
            shared_log = state.shared_log.clone();
            files = state.mappings.shared_files();
        }
        // Symbolization is slow, so it runs without the state lock.
        let shared = ProcessAccesses { files, ..shared_log.to_reported(&mut names) };
        // Only a command that has the reports of all processes can compare them.
        unjudged::merge(&mut unjudged, shared.unjudged(|_| false));
        let list = self.findings.last();
        if run.is_brief {
            recent.clear();
        }
        let timeline = recent.iter().map(|operation| operation.to_reported(Vec::new(), &mut names)).collect();
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
            unjudged,
            faults: run.faults,
            waits: run.waits,
            shared,
            timeline,
        }
    }

    /// Keeps every call for the timeline, with its source location.
    pub fn narrate(&self) {
        self.is_narrated.store(true, Ordering::Relaxed);
    }

    /// Sets the callback for the first proven finding.
    pub fn on_first_proven(&self, call: fn()) {
        self.state().on_first_proven = Some(call);
    }

    /// True if it is proven that the program hangs.
    pub(crate) fn has_hang(&self) -> bool {
        self.has_hang.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_hang(&self) {
        self.has_hang.store(true, Ordering::Relaxed);
    }

    /// When the program last made a call or finished a task, in nanoseconds of the monotonic clock.
    pub(crate) fn last_progress(&self) -> u64 {
        self.last_progress.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_progress(&self) {
        self.last_progress.store(coarse_monotonic_ns(), Ordering::Relaxed);
    }

    /// Wakes the threads that are held. The caller holds the state lock.
    pub(crate) fn wake_held_threads(&self) {
        // Waking is a system call even if nothing waits.
        if self.held_threads.load(Ordering::Relaxed) > 0 {
            self.function_changed.notify_all();
        }
    }

    /// True if the state lock is abandoned: a signal handler that interrupted the checker is ending the process. Does
    /// not allocate, because the handler may have interrupted the allocator too.
    pub fn is_lock_abandoned(&self) -> bool {
        self.last_state().is_none()
    }

    /// Locks the state at the end of the process. Returns `None` if the lock is abandoned.
    pub(crate) fn last_state(&self) -> Option<MutexGuard<'_, State>> {
        if self.is_abandoned.load(Ordering::Relaxed) {
            return None;
        }
        let state = lock_with_timeout(&self.state);
        self.is_abandoned.store(state.is_none(), Ordering::Relaxed);
        state
    }

    fn notes(&self) -> Vec<String> {
        let interrupted = "the process ended in the middle of a call (a crash, or a signal handler of the program): only \
                           earlier findings are reported";
        self.is_abandoned.load(Ordering::Relaxed).then(|| interrupted.to_owned()).into_iter().collect()
    }

    /// Checks the `failIndex` of a failed batch copy (B3).
    pub fn batch_failed(&self, is_untouched: bool) {
        let mut state = self.state();
        let operation = state.operation(NewOperation { name: "call", ..NewOperation::default() }, self.start);
        state.check_fail_index(is_untouched, &operation);
    }

    pub(crate) fn guard(&self) -> &Guard {
        self.guard.get().expect("`attached` is the first callback")
    }

    /// Locks the state and processes the host accesses since the last call.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.with_accesses_processed(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn with_accesses_processed<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if let Some(guard) = self.guard.get() {
            state.process_accesses(guard, self.start);
        }
        state
    }

    pub(crate) fn host_operation(&self, state: &mut State, name: &'static str, touches: &[Touch]) -> Arc<Operation> {
        state.operation(NewOperation { name, touches, ..NewOperation::default() }, self.start)
    }

    /// Retires the tasks that the host clock includes, after it advanced.
    pub(crate) fn retire_completed(&self, state: &mut State) {
        let guard = self.guard();
        for task in state.take_retired(guard, micros(self.start)) {
            if !task.operation.touches.is_empty() {
                state.compare_retired(guard, &task);
            }
        }
        state.drop_unused_snapshots(guard);
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
