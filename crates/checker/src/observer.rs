//! What the checker does at each callback of the engine. The rules themselves are in the files of `State`.

use crate::api::ApiFunction;
use crate::call::{call, leave_call, set_call, thread, thread_id};
use crate::checker::{Checker, NARRATED_CALL};
use crate::guard::{Guard, PAGE};
use crate::host_access::{FUNCTION, RunningFunction};
use crate::interposer;
use crate::operation::{Launch, Operation};
use crate::python;
use crate::state::{Allocation, LiveObject, NewOperation, micros};
use softacl_engine::observer::{
    AccessKind, Advisory, BlockChange, BlockedOn, Cell, CellId, FaultAction, Function, Mark, Object, Observer, Origin,
    SharedFile, Signal, StreamPosition, Submitted, TaskKind, Touch, Window,
};
use softacl_engine::{Error, MemoryKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Observer for Checker {
    fn guards(&self) -> bool {
        true
    }

    fn attached(&self, pinned: Window) {
        // There is one machine per process. A second window is ignored.
        if self.guard.set(Guard::new(pinned)).is_ok() {
            interposer::watch_pinned(pinned.start, pinned.len);
        }
    }

    fn entered(&self, function: &'static Function) {
        let function = ApiFunction::from(function);
        set_call(function);
        self.mark_progress();
        python::enter();
        let is_narrated = self.is_narrated.load(Ordering::Relaxed);
        let is_deprecated = function.is_deprecated();
        if !(is_narrated || is_deprecated || self.has_entry_checks.load(Ordering::Relaxed)) {
            // The common call. What the host accessed before it is processed by its first callback.
            return;
        }
        let mut state = self.state();
        if is_narrated {
            self.host_operation(&mut state, NARRATED_CALL, &[]);
        }
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
        self.has_entry_checks.store(state.has_entry_checks(), Ordering::Relaxed);
    }

    fn exited(&self, _code: i32) {
        leave_call();
    }

    fn call_failed(&self, function: &'static Function, error: &Error) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "call", &[]);
        state.check_refusal(function.into(), error, &operation);
        self.has_entry_checks.store(state.has_entry_checks(), Ordering::Relaxed);
    }

    fn finalized(&self, is_final: bool) {
        let mut state = self.state();
        state.finalized = is_final.then(|| self.host_operation(&mut state, "finalization", &[]));
        if let Some(operation) = state.finalized.clone() {
            state.check_end(self.guard(), Some(&operation));
        }
        self.has_entry_checks.store(state.has_entry_checks(), Ordering::Relaxed);
    }

    fn submitted(&self, task: &Submitted<'_>) {
        let mut guarded = self.state();
        let state = &mut *guarded;
        let guard = self.guard();
        let task = &Submitted { touches: state.certain_touches(task), ..*task };
        let operation = state.operation(
            NewOperation {
                name: task.kind.name(),
                label: task.label,
                at: Some(task.at),
                touches: task.touches,
                captured: task.captured,
            },
            self.start,
        );
        state.record_order(task, &operation);
        if task.kind == TaskKind::BatchCopy {
            state.check_batch(&operation);
        }
        if let Some(start) = task.releases {
            state.check_free(start, &operation);
            let size = state.allocations.get(&start).map_or(0, |allocation| allocation.size);
            state.freed_blocks.insert(start, size, Some(task.at), &operation);
        }
        state.check_freed_blocks(&operation);
        state.log_shared_task(task, &operation);
        let pending = state.pending(&operation);
        if !pending.is_empty() {
            let clock = state.clocks.of(task.at);
            state.check_order(&operation, &clock, &pending);
            state.check_submitters(&operation, &pending);
        }
        if call().is_some_and(ApiFunction::requires_alignment) {
            state.check_alignment(&operation);
        }
        // What ends the wait may come after what writes the bytes, which is not submitted yet.
        if !state.is_behind_external_wait(task.at) {
            state.check_written(guard, &operation);
        }
        state.record_written(guard, task.touches);
        if let Some(Signal::Change { cell: Cell { id: CellId::Value(address), .. }, .. }) = task.signal {
            let canonical = state.mappings.canonical(address);
            state.written.insert(canonical, size_of::<u64>());
        }
        state.add_in_flight(guard, task, operation);
        state.release_copies();
    }

    fn launched(&self, lanes: &[u32], join: Option<StreamPosition>) {
        self.state().launches.extend(lanes.iter().map(|lane| (*lane, Launch { join })));
    }

    fn resolved(&self, at: StreamPosition, kind: TaskKind, touches: &[Touch]) {
        self.state().resolve_copy(self.guard(), at, kind, touches);
    }

    fn started(&self, at: StreamPosition) {
        let mut state = self.state();
        let time = micros(self.start);
        if let Some(task) = state.in_flight_task(at) {
            task.operation.start(time);
        }
        state.shared_log.started(at);
        state.compare_sources_at(self.guard(), at);
        state.open_for_task(self.guard(), at);
    }

    fn failed(&self, at: StreamPosition, error: &Error) {
        let mut state = self.state();
        if let Some(operation) = state.in_flight_task(at).map(|task| Arc::clone(&task.operation)) {
            state.failures.push((operation, error.to_string()));
        }
        if matches!(error.cause(), Error::WaitTimeout(..)) {
            state.wait_abandoned(at);
        }
    }

    fn captured(&self, number: u64) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "captured call", &[]);
        state.add_capture(number, operation);
    }

    fn wait_stopped(&self, at: StreamPosition) {
        self.state().wait_abandoned(at);
    }

    fn finished(&self, at: StreamPosition) {
        self.mark_progress();
        let mut state = self.state();
        if !state.opened.is_empty()
            && let Some(opened) = state.opened.remove(&at)
        {
            self.guard().close(&opened.touches);
        }
        let operation = state.progress.entry(at.stream).or_default().finish(at);
        // A callback task without a waiter has left the queue and may not have run.
        state.host_function_finished(at);
        self.wake_held_threads();
        if state.unresolved_copies.remove(at).is_some() {
            state.judge_reads(self.guard());
        }
        state.shared_log.passed(at);
        state.resolve_on_pass(at);
        if let Some(operation) = operation {
            operation.finish(micros(self.start));
            state.refresh(self.guard(), &operation.touches);
        }
    }

    fn function_entered(&self, at: StreamPosition) {
        let mut state = self.state();
        let holds_stream = !state.free_functions.contains(&at);
        FUNCTION.set(Some(RunningFunction { at, holds_stream }));
        state.holds.running.insert(at);
        self.wake_held_threads();
        // The function can report to the program that the tasks before it are finished.
        if at.sequence > 1 {
            state.clocks.wait(StreamPosition { stream: at.stream, sequence: at.sequence - 1 });
            self.retire_completed(&mut state);
        }
    }

    fn function_left(&self, at: StreamPosition) {
        FUNCTION.set(None);
        let mut state = self.state();
        state.host_function_finished(at);
        state.decide_after(at);
        self.wake_held_threads();
        // The function may have written the source of any later task, or allowed a thread to write it.
        if !state.free_functions.remove(&at) {
            state.resnapshot_after(at);
        }
        state.release_copies();
    }

    fn dropped(&self, at: StreamPosition) {
        let mut state = self.state();
        if call().is_some_and(ApiFunction::aborts_tasks) {
            let operation = self.host_operation(&mut state, "abort", &[]);
            state.check_aborted(self.guard(), at.stream, &operation);
        }
        let done = state.progress.get(&at.stream).map_or(0, |progress| progress.done);
        state.waits_dropped(at, done);
        state.drop_unresolved_copies(self.guard(), at);
        if let Some(functions) = state.host_functions.get_mut(&at.stream) {
            functions.retain(|sequence| *sequence > at.sequence);
        }
        state.shared_log.dropped(at);
        state.clocks.discard_tasks(at, done);
        self.retire_completed(&mut state);
        // Tasks that had started still finish.
        if let Some(progress) = state.progress.get_mut(&at.stream) {
            progress.retired.retain(|(_, operation)| operation.has_started());
        }
    }

    fn ordered(&self, from: StreamPosition, after: StreamPosition) {
        let mut state = self.state();
        if state.waits.signals.is_wait(from) {
            // The signals themselves show what releases the wait.
            return;
        }
        match state.external_waits.contains(&from) {
            true => state.resolve_external_wait(from, &[after]),
            false => state.clocks.add_edges_late(from, &[after]),
        }
    }

    fn blocked(&self, _on: BlockedOn) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "wait", &[]);
        state.wait_records.calls.insert(thread_id(), operation);
    }

    fn waited(&self, at: StreamPosition) {
        let mut state = self.hold_wait(self.state(), at);
        // A late edge may have added the tasks to the host clock before.
        if state.clocks.wait(at) || state.has_unretired_task(at.stream) {
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
        state.check_freed_blocks(&operation);
        let pending = state.pending(&operation);
        let tasks: Vec<StreamPosition> = pending.iter().filter_map(|conflict| conflict.earlier.at).collect();
        let mut state = self.hold_call(state, &tasks);
        state.log_shared_call(&operation);
        state.check_order(&operation, &host, &pending);
        state.check_written(self.guard(), &operation);
        self.guard().open(touches);
        state.record_written(self.guard(), touches);
        state.host_overwrites(touches);
        operation.start(micros(self.start));
    }

    fn access_finished(&self, touches: &[Touch], _is_done: bool) {
        let mut state = self.state();
        self.guard().close(touches);
        state.refresh(self.guard(), touches);
    }

    fn allocated(&self, kind: MemoryKind, start: usize, size: usize) {
        let mut state = self.state();
        let allocated_by = self.host_operation(&mut state, "allocation", &[]);
        self.guard().isolate(start, size);
        state.ledger.forget(start, size);
        state.written.remove(start, size);
        state.host_views.remove(start, size);
        state.recycled.remove(start, size);
        state.freed_blocks.take(start, size);
        state.reclaimed.retain(|first, reclaimed| first + reclaimed.size <= start || start + size <= *first);
        state.allocations.insert(start, Allocation { size, kind, allocated_by, is_registered: false });
    }

    fn freed(&self, _kind: MemoryKind, start: usize) {
        self.release(start);
    }

    fn registered(&self, start: usize, size: usize) {
        let mut state = self.state();
        let allocated_by = self.host_operation(&mut state, "registration", &[]);
        let allocation = Allocation { size, kind: MemoryKind::Pinned, allocated_by, is_registered: true };
        state.allocations.insert(start, allocation);
        self.guard().register(start, size);
        interposer::watch_registered(start, size);
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
            state.waits.event_created(event);
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
        state.forget_reclaimed_blocks();
        state.context_resets.insert(operation.thread, operation);
        self.has_entry_checks.store(true, Ordering::Relaxed);
    }

    fn block_changed(&self, change: BlockChange, at: Option<StreamPosition>) {
        let mut state = self.state();
        let task = at.and_then(|at| state.in_flight_task(at)).map(|task| Arc::clone(&task.operation));
        // An allocation from a pool is a call at a position of a stream, not a task.
        let is_task = |task: &Arc<Operation>| task.name.starts_with("annotated ");
        let name = match change {
            BlockChange::Allocated { .. } => "allocation of a block",
            BlockChange::Freed { .. } => "release of a block",
        };
        let operation = task.filter(is_task).unwrap_or_else(|| self.host_operation(&mut state, name, &[]));
        state.change_block(change, at, &operation);
    }

    fn mapped(&self, start: usize, size: usize, physical: usize) {
        self.state().mappings.map(start, size, physical);
    }

    fn shared(&self, physical: usize, file: SharedFile) {
        self.state().share_memory(physical, file);
    }

    fn foreign_record_seen(&self) {
        self.state().shared_log.record_seen();
    }

    /// Ignored: a mark accesses nothing.
    fn marked(&self, _mark: &Mark<'_>) {}

    fn advised(&self, note: &Advisory) {
        let mut state = self.state();
        if let Advisory::Viewed { address, len } = note {
            let canonical = state.mappings.canonical(*address);
            state.written.insert(canonical, *len);
            state.host_views.insert(*address, *len);
            return;
        }
        let operation = self.host_operation(&mut state, "call", &[]);
        state.check_note(note, &operation);
    }

    fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction {
        let Some(guard) = self.guard.get() else { return FaultAction::PassOn };
        if !guard.is_interrupted() && guard.is_in_flight(address) && (is_write || !guard.reads_ahead(code)) {
            self.hold_access(guard, address, 1, is_write);
        }
        guard.touched(address, is_write, thread(), code)
    }

    fn watches(&self, address: usize) -> bool {
        self.guard.get().is_some_and(|guard| guard.contains(address))
    }

    fn wants_progress(&self) -> bool {
        self.held_threads.load(Ordering::Relaxed) > 0
    }

    fn take_accessed(&self) -> Vec<Touch> {
        // Those since the last call are not processed yet.
        drop(self.state());
        self.guard.get().map(|guard| guard.accessed.take(PAGE)).unwrap_or_default()
    }

    fn stepped(&self) {
        if let Some(guard) = self.guard.get() {
            guard.stepped();
        }
    }
}

impl Checker {
    fn release(&self, start: usize) {
        let mut state = self.state();
        let operation = self.host_operation(&mut state, "release", &[]);
        state.check_free(start, &operation);
        if let Some(released) = state.allocations.remove(&start) {
            let canonical = state.mappings.canonical(start);
            let is_mapped = canonical != start;
            if state.mappings.unmap(start) {
                state.ledger.forget(canonical, released.size);
            }
            // Physical memory keeps its contents.
            if !is_mapped {
                state.written.remove(start, released.size);
            }
            state.host_views.remove(start, released.size);
            state.freed_blocks.take(start, released.size);
            match released.is_registered {
                true => self.guard().unregister(start, released.size),
                false => self.guard().clear(start, released.size),
            }
        }
        state.drop_unused_snapshots(self.guard());
    }
}
