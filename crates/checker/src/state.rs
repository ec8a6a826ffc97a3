//! The state of the checker: clocks, accesses, allocations, and tasks in flight.
//!
//! One lock (`Checker::state`) protects all of it. It is taken inside calls of the program and while tasks run.
//! Nothing here calls back into the engine. The lock of `Findings` is taken after it.

use crate::api::ApiFunction;
use crate::backtrace::RawBacktrace;
use crate::call::{call, next_sequence, thread};
use crate::clock::Clocks;
use crate::finding::{self, FindingId, Severity};
use crate::freed_blocks::FreedBlocks;
use crate::guard::Guard;
use crate::host_access::RunningFunction;
use crate::ledger::Ledger;
use crate::mappings::Mappings;
use crate::operation::{Launch, Operation};
use crate::ranges::Ranges;
use crate::shared_log::SharedLog;
use crate::unjudged::{Subject, UnjudgedCounts};
use crate::unresolved_copies::UnresolvedCopies;
use crate::wait_log::Waits;
use crate::wait_text::WaitRecords;
use softacl_engine::observer::{Mode, Object, Origin, StreamPosition, Touch};
use softacl_engine::{Error, MemoryKind, lock_with_timeout};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Number of recent operations that are kept for the timeline.
const MAX_TIMELINE: usize = 400;
/// Maximum number of captured calls whose places are remembered.
const MAX_CAPTURES: usize = 1 << 16;
/// Maximum number of ranges that a finding shows per operation.
const MAX_RANGES: usize = 4;

/// A task between its submit and a host wait that covers it.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) at: StreamPosition,
    pub(crate) operation: Arc<Operation>,
    /// The sources were compared with their contents at submit.
    pub(crate) is_compared: bool,
    /// A change of the sources was reported. Each copy is counted once, even if the change continues.
    pub(crate) is_reported: bool,
    /// Host accesses count for the sources from this sequence number on: that of the task, or of the resolved
    /// external wait that it was queued behind.
    pub(crate) since: u64,
    /// Address of the value that the task changes or waits for.
    pub(crate) cell: Option<usize>,
    /// Contents of sources that are not protected, at submit.
    pub(crate) snapshots: Vec<crate::snapshot::SourceSnapshot>,
}

/// Progress of one stream.
#[derive(Debug, Default)]
pub(crate) struct StreamProgress {
    /// Tasks in flight, in submission order.
    pub(crate) in_flight: VecDeque<InFlight>,
    /// Retired tasks whose `finished` callback has not arrived yet.
    pub(crate) retired: Vec<(StreamPosition, Arc<Operation>)>,
    /// Sequence number of the newest submitted task.
    pub(crate) newest: u64,
    /// Sequence number of the last finished task.
    pub(crate) done: u64,
}

/// A live allocation or registration.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) size: usize,
    pub(crate) kind: MemoryKind,
    pub(crate) allocated_by: Arc<Operation>,
    pub(crate) is_registered: bool,
}

/// A live stream, event or context.
#[derive(Debug)]
pub(crate) struct LiveObject {
    pub(crate) created_by: Arc<Operation>,
    pub(crate) origin: Origin,
}

/// Device memory that a reset released.
#[derive(Debug)]
pub(crate) struct ReclaimedMemory {
    pub(crate) size: usize,
    pub(crate) reset: Arc<Operation>,
}

/// Contents of a source page before a host access.
#[derive(Debug)]
pub(crate) struct PageSnapshot {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) access: Arc<Operation>,
    /// The host function that made the access, if any.
    pub(crate) function: Option<RunningFunction>,
    /// True if the page was left unprotected from then on, because of accesses beside the bytes in flight.
    pub(crate) is_left_open: bool,
}

/// Host functions that threads are or were held for.
#[derive(Default)]
pub(crate) struct Holds {
    /// Functions that have been entered and not left.
    pub(crate) running: HashSet<StreamPosition>,
    /// Number of holds that expired, by the place of the submit.
    pub(crate) expired: HashMap<u64, u32>,
    pub(crate) undecided: Vec<UndecidedAccess>,
}

/// An access that happened while functions were unfinished.
pub(crate) struct UndecidedAccess {
    /// Clock value of the accessing thread.
    pub(crate) moment: u64,
    pub(crate) functions: Vec<StreamPosition>,
}

/// A failed call whose error the program has not handled yet.
#[derive(Debug)]
pub(crate) struct UncheckedError {
    pub(crate) operation: Arc<Operation>,
    pub(crate) message: String,
    /// A batch copy on a chip without batch copies.
    pub(crate) is_batch: bool,
}

impl UncheckedError {
    pub(crate) fn new(function: ApiFunction, error: &Error, operation: &Arc<Operation>) -> UncheckedError {
        UncheckedError {
            operation: Arc::clone(operation),
            message: format!("{function} failed with {}: {error}", error.code()),
            is_batch: function.is_batch_copy(),
        }
    }
}

/// An operation of a finding with its role and the relevant ranges.
pub(crate) struct Evidence {
    pub(crate) role: &'static str,
    pub(crate) operation: Arc<Operation>,
    pub(crate) ranges: Vec<finding::Bytes>,
}

/// A finding whose locations are not symbolized yet.
pub(crate) struct PendingFinding {
    pub(crate) id: FindingId,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) fix: String,
    pub(crate) count: u64,
    pub(crate) evidence: Vec<Evidence>,
}

/// The findings. They have a separate lock, so that they can be reported if the state lock is abandoned.
#[derive(Default)]
pub(crate) struct Findings(Mutex<Vec<PendingFinding>>);

impl Findings {
    pub(crate) fn list(&self) -> MutexGuard<'_, Vec<PendingFinding>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the list at the end of the process. Returns `None` if the lock is abandoned.
    pub(crate) fn last(&self) -> Option<MutexGuard<'_, Vec<PendingFinding>>> {
        lock_with_timeout(&self.0)
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) clocks: Clocks,
    pub(crate) ledger: Ledger,
    /// Device bytes that were ever written.
    pub(crate) written: Ranges,
    /// Device bytes in blocks that were allocated again.
    pub(crate) recycled: Ranges,
    /// Blocks that were freed and not allocated again.
    pub(crate) freed_blocks: FreedBlocks,
    /// Device bytes that host code can write directly.
    pub(crate) host_views: Ranges,
    /// Physical memory that is mapped at several addresses, or that other processes can access. The ledger and
    /// `written` use its addresses.
    pub(crate) mappings: Mappings,
    /// Waits of streams and what releases them.
    pub(crate) waits: Waits,
    /// Live allocations and registrations by start.
    pub(crate) allocations: BTreeMap<usize, Allocation>,
    /// Progress by stream.
    pub(crate) progress: BTreeMap<u32, StreamProgress>,
    /// Number of source snapshots of all tasks in flight.
    pub(crate) snapshot_count: usize,
    /// Unresolved external waits. Anything the program does now may happen before their end.
    pub(crate) external_waits: Vec<StreamPosition>,
    /// Queued or running host functions by stream. Each may wait for any thread and may release any thread.
    pub(crate) host_functions: BTreeMap<u32, BTreeSet<u64>>,
    pub(crate) unresolved_copies: UnresolvedCopies,
    /// Queued or running callbacks that do not hold their stream.
    pub(crate) free_functions: HashSet<StreamPosition>,
    /// Accesses that were held because of host functions.
    pub(crate) holds: Holds,
    /// Running tasks that access registered memory, whose pages are open while they run.
    pub(crate) opened: HashMap<StreamPosition, Arc<Operation>>,
    /// Page snapshots by page address, oldest first.
    pub(crate) page_snapshots: HashMap<usize, Vec<PageSnapshot>>,
    /// Live streams, events and contexts.
    pub(crate) objects: HashMap<Object, LiveObject>,
    /// Tasks that record an event or wait for it, by event.
    pub(crate) event_uses: BTreeMap<u32, Vec<StreamPosition>>,
    /// Newest launch on each internal stream of a graph run. Programs do not see these streams.
    pub(crate) launches: HashMap<u32, Launch>,
    /// Calls that were captured into graphs, by number. The oldest are forgotten.
    pub(crate) captures: BTreeMap<u64, Arc<Operation>>,
    /// Objects that a reset destroyed, and the reset.
    pub(crate) reset_objects: HashMap<Object, Arc<Operation>>,
    /// By thread: the reset that destroyed its context, until the thread selects another one.
    pub(crate) context_resets: BTreeMap<u32, Arc<Operation>>,
    /// Memory that a reset released, by first byte.
    pub(crate) reclaimed: BTreeMap<usize, ReclaimedMemory>,
    /// Failed tasks with their error texts.
    pub(crate) failures: Vec<(Arc<Operation>, String)>,
    /// By thread: a failed asynchronous call whose error the thread has not handled yet.
    pub(crate) unchecked_errors: BTreeMap<u32, UncheckedError>,
    /// By thread: a failed allocation, until the thread allocates again or frees memory.
    pub(crate) failed_allocations: BTreeMap<u32, Arc<Operation>>,
    /// The call that finalized the runtime.
    pub(crate) finalized: Option<Arc<Operation>>,
    pub(crate) findings: Arc<Findings>,
    /// What explains waits.
    pub(crate) wait_records: WaitRecords,
    /// Called when something is proven for the first time.
    pub(crate) on_first_proven: Option<fn()>,
    /// Index into the findings by id and locations.
    finding_index: HashMap<(FindingId, Vec<u64>), usize>,
    /// Recent operations for the timeline, oldest first.
    pub(crate) recent: VecDeque<Arc<Operation>>,
    pub(crate) unjudged: UnjudgedCounts,
    /// Accesses to memory that several processes share.
    pub(crate) shared_log: SharedLog,
}

impl StreamProgress {
    /// Records that a task has finished and returns its operation.
    pub(crate) fn finish(&mut self, at: StreamPosition) -> Option<Arc<Operation>> {
        self.done = at.sequence;
        if let Some(task) = self.in_flight_task(at) {
            return Some(Arc::clone(&task.operation));
        }
        let index = self.retired.iter().position(|(retired, _)| *retired == at)?;
        Some(self.retired.swap_remove(index).1)
    }

    fn in_flight_task(&mut self, at: StreamPosition) -> Option<&mut InFlight> {
        let index = self.in_flight.partition_point(|task| task.at.sequence < at.sequence);
        self.in_flight.get_mut(index).filter(|task| task.at == at)
    }
}

/// Input of [`State::operation`].
#[derive(Default)]
pub(crate) struct NewOperation<'a> {
    pub(crate) name: &'static str,
    /// The name of the kernel, if the operation is one.
    pub(crate) label: Option<&'a str>,
    pub(crate) at: Option<StreamPosition>,
    pub(crate) touches: &'a [Touch],
    /// Number of the captured call that the task repeats.
    pub(crate) captured: Option<u64>,
}

impl State {
    /// Records an operation of the calling thread.
    pub(crate) fn operation(&mut self, new: NewOperation<'_>, start: Instant) -> Arc<Operation> {
        let sequence = next_sequence();
        self.operation_at(
            sequence,
            new,
            RawBacktrace::capture(),
            thread(),
            call().map(ApiFunction::name),
            micros(start),
        )
    }

    pub(crate) fn operation_at(
        &mut self,
        sequence: u64,
        new: NewOperation<'_>,
        backtrace: RawBacktrace,
        thread: u32,
        function: Option<&'static str>,
        time: f64,
    ) -> Arc<Operation> {
        let NewOperation { name, at, touches, captured, label } = new;
        let mut operation = Operation::new(sequence, name, function, at, thread, touches, backtrace, time);
        operation.label = label.map(Box::from);
        operation.captured_by = captured.and_then(|number| self.captures.get(&number).cloned());
        let launched = at.filter(|_| !self.launches.is_empty());
        operation.launch = launched.and_then(|at| self.launches.get(&at.stream).copied());
        let operation = Arc::new(operation);
        if self.recent.len() == MAX_TIMELINE {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(&operation));
        operation
    }

    /// Remembers where a call was captured.
    pub(crate) fn add_capture(&mut self, number: u64, operation: Arc<Operation>) {
        self.captures.insert(number, operation);
        if self.captures.len() > MAX_CAPTURES {
            self.captures.pop_first();
        }
    }

    /// Evidence that shows where a task of a graph was captured.
    pub(crate) fn capture_evidence(&self, operation: &Operation) -> Option<Evidence> {
        operation.captured_by.as_ref().map(|capture| self.evidence("captured here", capture, None))
    }

    /// Adds a finding, or increments the count of an equal one: same id and same locations. A count of 0 belongs to
    /// an occurrence that was counted before.
    pub(crate) fn add_finding(&mut self, mut found: PendingFinding) {
        if found.severity == Severity::Proven {
            self.prove();
        }
        let locations = found.evidence.iter().map(|evidence| evidence.operation.backtrace.key()).collect();
        let mut list = self.findings.list();
        match self.finding_index.entry((found.id, locations)) {
            std::collections::hash_map::Entry::Occupied(known) => list[*known.get()].count += found.count,
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(list.len());
                found.count = found.count.max(1);
                list.push(found);
            }
        }
    }

    /// Records that `count` more operations cannot be judged for these findings. The reason completes the sentence "H1
    /// not judged for 3 copies: ...". The report shows it, so that silence is not mistaken for a clean program.
    pub(crate) fn not_judged(
        &mut self,
        findings: &'static [FindingId],
        what: Subject,
        count: u64,
        reason: &'static str,
    ) {
        self.unjudged.add(findings, what, count, reason);
    }

    /// Calls `on_first_proven` once.
    pub(crate) fn prove(&mut self) {
        if let Some(call) = self.on_first_proven.take() {
            call();
        }
    }

    /// Start and record of the allocation that contains an address.
    pub(crate) fn allocation(&self, address: usize) -> Option<(usize, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address < start + allocation.size).then_some((*start, allocation))
    }

    /// Describes a range for a message. The address may stand for physical memory.
    pub(crate) fn describe_range(&self, address: usize, len: usize) -> String {
        let address = self.mappings.program_address(address);
        match self.allocation(address) {
            Some((start, allocation)) => {
                let first = address - start;
                let kind = if allocation.is_registered {
                    "registered host memory".to_owned()
                } else {
                    allocation.kind.describe()
                };
                format!(
                    "bytes {first} to {} of the {} bytes at {start:#x}, {kind}",
                    first + len.max(1) - 1,
                    allocation.size
                )
            }
            None => format!("{len} bytes at {address:#x}, ordinary host memory"),
        }
    }

    pub(crate) fn bytes(&self, address: usize, len: usize, mode: Mode) -> finding::Bytes {
        let mode = if mode == Mode::Read { finding::Mode::Read } else { finding::Mode::Write };
        finding::Bytes { address: address as u64, len: len as u64, mode, what: self.describe_range(address, len) }
    }

    /// Builds evidence from an operation and those of its ranges that overlap `near`.
    pub(crate) fn evidence(
        &self,
        role: &'static str,
        operation: &Arc<Operation>,
        near: Option<(usize, usize)>,
    ) -> Evidence {
        let meets = |touch: &&Touch| {
            near.is_none_or(|(near, len)| {
                let (near, address) = (self.mappings.canonical(near), self.mappings.canonical(touch.address));
                address < near + len && near < address + touch.len
            })
        };
        let ranges = operation.touches.iter().filter(meets).take(MAX_RANGES);
        let ranges = ranges.map(|touch| self.bytes(touch.address, touch.len, touch.mode)).collect();
        Evidence { role, operation: Arc::clone(operation), ranges }
    }

    /// Evidence that shows where the memory of an address was allocated or registered.
    pub(crate) fn allocation_evidence(&self, address: usize) -> Option<Evidence> {
        let (_, allocation) = self.allocation(address)?;
        let role = if allocation.is_registered { "registered here" } else { "allocated here" };
        Some(Evidence { role, operation: Arc::clone(&allocation.allocated_by), ranges: Vec::new() })
    }

    /// All tasks in flight.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.progress.values().flat_map(|progress| &progress.in_flight)
    }

    pub(crate) fn in_flight_mut(&mut self) -> impl Iterator<Item = &mut InFlight> {
        self.progress.values_mut().flat_map(|progress| &mut progress.in_flight)
    }

    /// The task at a position, if it is in flight.
    pub(crate) fn in_flight_task(&mut self, at: StreamPosition) -> Option<&mut InFlight> {
        self.progress.get_mut(&at.stream)?.in_flight_task(at)
    }

    /// Sequence number of the newest task of the stream of `at`.
    pub(crate) fn newest(&self, at: StreamPosition) -> u64 {
        self.progress.get(&at.stream).map_or(at.sequence, |progress| progress.newest)
    }

    /// True if a task is queued behind an unresolved external wait: it may happen after anything that happens now.
    pub(crate) fn is_behind_external_wait(&self, at: StreamPosition) -> bool {
        !self.external_waits.is_empty() && {
            let clock = self.clocks.of(at);
            self.external_waits.iter().any(|wait| clock.includes(*wait))
        }
    }

    /// True if a task is queued behind an unfinished host function: anything that a thread does now may happen before
    /// it.
    pub(crate) fn is_behind_host_function(&self, at: StreamPosition) -> bool {
        !self.host_functions.is_empty() && {
            let clock = self.clocks.of(at);
            let first = |(stream, all): (&u32, &BTreeSet<u64>)| {
                Some(StreamPosition { stream: *stream, sequence: *all.first()? })
            };
            self.host_functions.iter().filter_map(first).any(|function| clock.includes(function))
        }
    }

    pub(crate) fn host_function_finished(&mut self, at: StreamPosition) {
        if let Some(all) = self.host_functions.get_mut(&at.stream) {
            all.remove(&at.sequence);
            if all.is_empty() {
                self.host_functions.remove(&at.stream);
            }
        }
    }

    /// True if the next entry into a function has something to check.
    pub(crate) fn has_entry_checks(&self) -> bool {
        self.finalized.is_some()
            || !self.unchecked_errors.is_empty()
            || !self.failed_allocations.is_empty()
            || !self.context_resets.is_empty()
    }

    /// Takes new snapshots of the sources of all tasks behind `at`. Earlier changes to them were legal.
    pub(crate) fn resnapshot_after(&mut self, at: StreamPosition) {
        let sequence = next_sequence();
        for task in self.progress.values_mut().flat_map(|progress| &mut progress.in_flight) {
            if self.clocks.of(task.at).includes(at) {
                task.since = sequence;
                task.snapshots.iter_mut().for_each(crate::snapshot::SourceSnapshot::refresh);
            }
        }
    }

    /// True if the host clock includes the first task in flight of a stream.
    pub(crate) fn has_unretired_task(&self, stream: u32) -> bool {
        let first = self.progress.get(&stream).and_then(|progress| progress.in_flight.front());
        first.is_some_and(|task| self.clocks.host().includes(task.at))
    }

    /// Removes and returns every task in flight that the host clock includes.
    pub(crate) fn take_retired(&mut self, guard: &Guard, time: f64) -> Vec<InFlight> {
        let host = self.clocks.host();
        let mut retired = Vec::new();
        for progress in self.progress.values_mut() {
            while progress.in_flight.front().is_some_and(|task| host.includes(task.at)) {
                retired.extend(progress.in_flight.pop_front());
            }
        }
        for task in &retired {
            self.shared_log.known(task.at);
            if !task.operation.has_finished()
                && let Some(progress) = self.progress.get_mut(&task.at.stream)
            {
                progress.retired.push((task.at, Arc::clone(&task.operation)));
            }
            self.host_function_finished(task.at);
            self.snapshot_count -= task.snapshots.len();
            task.operation.wait(time);
        }
        guard.remove(retired.iter().flat_map(|task| &task.operation.touches));
        retired
    }
}

impl State {
    /// Describes the narrowest wait that covers a task.
    pub(crate) fn narrowest_wait(&self, task: &Operation) -> String {
        let Some(at) = task.visible_task() else { return "the end of the call that runs the graph".to_owned() };
        match self.newest(at).saturating_sub(at.sequence) {
            0 => format!("aclrtSynchronizeStream on stream {}, or an event recorded right after it", at.stream),
            behind => format!(
                "aclrtSynchronizeEvent on an event recorded on stream {} right after it ({behind} more {} queued \
                 behind it)",
                at.stream,
                if behind == 1 { "task is" } else { "tasks are" },
            ),
        }
    }
}

/// Microseconds since `start`.
pub(crate) fn micros(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}
