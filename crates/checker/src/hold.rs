//! Holding: how an access to memory of a copy behind an unfinished host function is judged.
//!
//! Such an access is legal if the function waits for it, and a function can wait in ways that nothing observes
//! (atomics, pipes, a lock that was taken in time). So the accessing thread is held right before the access until the
//! function has returned. If the function returns, it did not wait for the access, which is then judged like any
//! other. If it does not return, it may be waiting for this thread: the access continues, and is legal if the
//! interposer observes an order when the function returns. Otherwise it is counted as not judged.
//!
//! A callback that does not block is ordered with nothing behind it. It can run after a wait for the copies behind it, when
//! they are no longer in flight. So the waiting thread is held for it, too.
//!
//! The engine runs ready work while a thread is held (`Observer::wants_progress`).

use crate::checker::Checker;
use crate::finding::FindingId;
use crate::guard::Guard;
use crate::host_access::FUNCTION;
use crate::interposer;
use crate::state::{State, UndecidedAccess};
use crate::unjudged::Subject;
use softacl_engine::lock_with_timeout;
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a thread is held for a function that has not started.
const START_LIMIT: Duration = Duration::from_millis(1000);
/// How long a thread is held for a function that runs.
const RUN_LIMIT: Duration = Duration::from_millis(200);
/// Functions that were submitted at one place and did not return in time, after which no thread is held for them.
const MAX_EXPIRED: u32 = 2;

const MAY_WAIT: &str = "made while a host function ahead of the copy was running, which may have waited for them: no \
                        order was observed (atomics and mutexes order nothing that the checker can see)";

const CALLBACK_AHEAD: &str = "a callback that does not block (ACL_CALLBACK_NO_BLOCK) was queued ahead of them and had not \
                              returned when the host waited for them, so its later accesses are not compared";

impl State {
    /// Unfinished callbacks that do not hold their stream, with copies of host memory behind them that a wait for `at`
    /// covers, and the number of these copies. Nothing orders the two.
    fn callbacks_before(&self, guard: &Guard, at: StreamPosition) -> (Vec<StreamPosition>, u64) {
        let clock = self.clocks.of(at);
        let (mut callbacks, mut copies) = (Vec::new(), 0);
        for stream in self.progress.values() {
            let mut ahead = Vec::new();
            let mut is_behind = false;
            for task in stream.in_flight.iter().take_while(|task| clock.includes(task.at)) {
                if self.free_functions.contains(&task.at) {
                    ahead.push(task.at);
                    is_behind = true;
                } else if is_behind && task.operation.touches.iter().any(|touch| guard.contains(touch.address)) {
                    callbacks.append(&mut ahead);
                    copies += 1;
                }
            }
        }
        (callbacks, copies)
    }

    /// Unfinished host functions that happen before a task.
    fn functions_before(&self, at: StreamPosition) -> Vec<StreamPosition> {
        let clock = self.clocks.of(at);
        let all = self.host_functions.iter();
        let all = all.flat_map(|(stream, all)| all.iter().map(|sequence| (*stream, *sequence)));
        let all = all.map(|(stream, sequence)| StreamPosition { stream, sequence });
        all.filter(|function| *function != at && clock.includes(*function)).collect()
    }

    /// Unfinished host functions before the tasks that an access by the host would conflict with.
    fn functions_before_access(&self, start: usize, len: usize, is_write: bool) -> Vec<StreamPosition> {
        let conflicts = |touch: &Touch| {
            touch.address < start + len && start < touch.address + touch.len && (is_write || touch.mode == Mode::Write)
        };
        let tasks = self.in_flight().filter(|task| task.operation.touches.iter().any(conflicts));
        let tasks = tasks.filter(|task| !self.is_behind_external_wait(task.at));
        tasks.flat_map(|task| self.functions_before(task.at)).collect()
    }

    fn is_unfinished(&self, function: StreamPosition) -> bool {
        self.host_functions.get(&function.stream).is_some_and(|all| all.contains(&function.sequence))
            || self.free_functions.contains(&function)
    }

    /// Hash of the place where a function was submitted.
    fn submit_site(&mut self, function: StreamPosition) -> u64 {
        self.in_flight_task(function).map_or(0, |task| task.operation.backtrace.key())
    }

    /// Decides about accesses that happened while a function was unfinished, on the thread of the function, when it
    /// has returned.
    pub(crate) fn decide_after(&mut self, function: StreamPosition) {
        self.holds.running.remove(&function);
        let mut count = 0;
        self.holds.undecided.retain_mut(|access| {
            let Some(index) = access.functions.iter().position(|other| *other == function) else { return true };
            access.functions.swap_remove(index);
            let is_ordered = interposer::comes_after(access.moment) == Some(true);
            count += u64::from(!is_ordered && access.functions.is_empty());
            !is_ordered && !access.functions.is_empty()
        });
        self.not_judged(&[FindingId::H1, FindingId::H3], Subject::HostAccess, count, MAY_WAIT);
    }

    /// Counts the accesses that were never decided, at the end of the program.
    pub(crate) fn count_undecided(&mut self) {
        let count = std::mem::take(&mut self.holds.undecided).len() as u64;
        self.not_judged(&[FindingId::H1, FindingId::H3], Subject::HostAccess, count, MAY_WAIT);
    }
}

impl Checker {
    /// Holds the calling thread before an access to host memory in flight. Called in a signal handler, too: the thread
    /// does not hold the state lock, because the checker accesses no memory that the guard protects.
    pub(crate) fn hold_access(&self, guard: &Guard, start: usize, len: usize, is_write: bool) {
        if FUNCTION.get().is_some() || guard.is_child() {
            return;
        }
        let Some(state) = lock_with_timeout(&self.state) else { return };
        if state.host_functions.is_empty() {
            return;
        }
        let functions = state.functions_before_access(start, len, is_write);
        let (mut state, unfinished) = self.hold(state, functions, START_LIMIT);
        if !unfinished.is_empty() {
            state.holds.undecided.push(UndecidedAccess { moment: interposer::now(), functions: unfinished });
        }
    }

    /// Holds the calling thread before a call that conflicts with tasks behind unfinished host functions.
    pub(crate) fn hold_call<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        tasks: &[StreamPosition],
    ) -> MutexGuard<'a, State> {
        if state.host_functions.is_empty() || FUNCTION.get().is_some() {
            return state;
        }
        let tasks = tasks.iter().filter(|at| !state.is_behind_external_wait(**at));
        let functions = tasks.flat_map(|at| state.functions_before(*at)).collect();
        self.hold(state, functions, START_LIMIT).0
    }

    /// Holds a thread that has waited for copies behind callbacks that do not block, until these have returned: their
    /// accesses are judged as long as the copies are in flight.
    pub(crate) fn hold_wait<'a>(&'a self, state: MutexGuard<'a, State>, at: StreamPosition) -> MutexGuard<'a, State> {
        if state.free_functions.is_empty() || FUNCTION.get().is_some() {
            return state;
        }
        let (callbacks, copies) = state.callbacks_before(self.guard(), at);
        let (state, unfinished) = self.hold(state, callbacks, RUN_LIMIT);
        let mut state = self.with_accesses_processed(state);
        if !unfinished.is_empty() {
            state.not_judged(&[FindingId::H1, FindingId::H3], Subject::Copy, copies, CALLBACK_AHEAD);
        }
        state
    }

    /// Waits until functions have returned. Returns those that have not.
    fn hold<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut functions: Vec<StreamPosition>,
        start_limit: Duration,
    ) -> (MutexGuard<'a, State>, Vec<StreamPosition>) {
        functions.sort_unstable_by_key(|function| (function.stream, function.sequence));
        functions.dedup();
        let is_hopeless = functions.iter().any(|function| {
            let site = state.submit_site(*function);
            state.holds.expired.get(&site).is_some_and(|count| *count >= MAX_EXPIRED)
        });
        if functions.is_empty() || is_hopeless {
            return (state, functions);
        }
        self.held_threads.fetch_add(1, Ordering::Relaxed);
        let mut deadline = Instant::now() + start_limit;
        let mut last = (functions.len(), false);
        loop {
            functions.retain(|function| state.is_unfinished(*function));
            let is_running = functions.iter().any(|function| state.holds.running.contains(function));
            let seen = (functions.len(), is_running);
            if seen != last {
                last = seen;
                deadline = Instant::now() + if is_running { RUN_LIMIT } else { start_limit };
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if functions.is_empty() || left.is_zero() {
                break;
            }
            let waited = self.function_changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.held_threads.fetch_sub(1, Ordering::Relaxed);
        for function in &functions {
            let site = state.submit_site(*function);
            *state.holds.expired.entry(site).or_default() += 1;
        }
        (state, functions)
    }
}
