//! What the checker knows: clocks, accesses, allocations, and what is in flight.
//!
//! Behind one lock. It is taken inside calls of the program and while tasks run; nothing here calls
//! back into the engine.

use crate::backtrace::RawBacktrace;
use crate::clock::Clocks;
use crate::finding::{self, Severity};
use crate::guard::Guard;
use crate::ledger::Ledger;
use crate::operation::{Launch, Operation, next_sequence};
use crate::ranges::Ranges;
use softacl_engine::observer::{Mode, Object, StreamPosition, Touch};
use softacl_engine::{Error, MemoryKind, lock_with_timeout};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Operations that are kept for the drawing.
const DRAWN: usize = 400;
/// Ranges that a finding shows of one operation.
const SHOWN: usize = 4;

thread_local! {
    /// The function of the interface that this thread is in.
    static CALL: Cell<Option<&'static str>> = const { Cell::new(None) };
    static THREAD: Cell<u32> = const { Cell::new(u32::MAX) };
    /// Drawn when this thread entered that function.
    static ENTERED: Cell<u64> = const { Cell::new(0) };
}

/// The function of the interface that the calling thread is in.
pub(crate) fn call() -> Option<&'static str> {
    CALL.get()
}

pub(crate) fn set_call(function: &'static str) {
    CALL.set(Some(function));
    ENTERED.set(next_sequence());
}

/// When the calling thread entered the function that it is in.
pub(crate) fn entered() -> u64 {
    ENTERED.get()
}

/// A small number for the calling thread; the first to call is 0.
pub(crate) fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if THREAD.get() == u32::MAX {
        THREAD.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    THREAD.get()
}

/// A task between its submit and a wait of the host that covers it.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) at: StreamPosition,
    pub(crate) operation: Arc<Operation>,
    /// Its sources were compared with what they were at submit.
    pub(crate) is_compared: bool,
    /// A change of its sources was told: once for each copy, however long the change took.
    pub(crate) is_reported: bool,
    /// Touches from this number on count for its sources: its own, or that of the sign that let it start.
    pub(crate) since: u64,
    /// What sources in registered memory held at submit.
    pub(crate) prints: Vec<crate::snapshot::SourceSnapshot>,
}

/// How far a stream has come.
#[derive(Debug, Default)]
pub(crate) struct StreamProgress {
    /// In the order of their numbers.
    pub(crate) flights: VecDeque<InFlight>,
    /// Tasks that the host knows to be over by what it has waited for, and that have not told it themselves.
    pub(crate) retired: Vec<(StreamPosition, Arc<Operation>)>,
    /// The number of its newest task, and of the last one that is over.
    pub(crate) newest: u64,
    pub(crate) done: u64,
}

#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) size: usize,
    pub(crate) place: MemoryKind,
    pub(crate) made: Arc<Operation>,
    pub(crate) is_registered: bool,
}

/// Device memory that a reset took away, and the reset.
#[derive(Debug)]
pub(crate) struct ReclaimedMemory {
    pub(crate) size: usize,
    pub(crate) by: Arc<Operation>,
}

/// What a page of a source held before the host touched it, and the touch.
#[derive(Debug)]
pub(crate) struct PageSnapshot {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) touch: Arc<Operation>,
    /// The host function that touched it, if one did.
    pub(crate) function: Option<StreamPosition>,
}

/// A call that was refused, and that the program may not have noticed.
#[derive(Debug)]
pub(crate) struct UncheckedError {
    pub(crate) operation: Arc<Operation>,
    pub(crate) why: String,
    /// A batch on a chip that has none.
    pub(crate) is_batch: bool,
}

impl UncheckedError {
    pub(crate) fn new(function: &'static str, error: &Error, operation: &Arc<Operation>) -> UncheckedError {
        UncheckedError {
            operation: Arc::clone(operation),
            why: format!("{function} failed with {}: {error}", error.code()),
            is_batch: function.contains("MemcpyBatch"),
        }
    }
}

/// An operation that a finding shows: its part in it, and the ranges that matter.
pub(crate) struct Evidence {
    pub(crate) role: &'static str,
    pub(crate) operation: Arc<Operation>,
    pub(crate) ranges: Vec<finding::Bytes>,
}

pub(crate) struct PendingFinding {
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) fix: String,
    pub(crate) count: u64,
    pub(crate) evidence: Vec<Evidence>,
}

/// What was found, behind a lock of its own: it can be told when the books are held for good.
#[derive(Default)]
pub(crate) struct Findings(Mutex<Vec<PendingFinding>>);

impl Findings {
    pub(crate) fn list(&self) -> MutexGuard<'_, Vec<PendingFinding>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same at the end of the process. `None`: the list is held for good too.
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
    pub(crate) allocations: BTreeMap<usize, Allocation>,
    pub(crate) courses: BTreeMap<u32, StreamProgress>,
    /// Sources in registered memory of all that is in flight.
    pub(crate) printed: usize,
    /// Waits for a sign that has not been seen: whatever the program does now may come before it.
    pub(crate) external_waits: Vec<StreamPosition>,
    /// By stream, host functions that are queued or run: each may wait for any thread, and may let any thread go on.
    pub(crate) functions: BTreeMap<u32, BTreeSet<u64>>,
    /// By page, oldest first.
    pub(crate) before: HashMap<usize, Vec<PageSnapshot>>,
    pub(crate) objects: HashMap<Object, Arc<Operation>>,
    /// Tasks that record an event or wait for it.
    pub(crate) event_uses: BTreeMap<u32, Vec<StreamPosition>>,
    /// Streams of runs of graphs, which the program does not see, and the newest launch of each.
    pub(crate) launches: HashMap<u32, Launch>,
    /// Objects that a reset took away, and the reset.
    pub(crate) reset: HashMap<Object, Arc<Operation>>,
    /// By thread: the reset that took its context away, since when it has chosen no other.
    pub(crate) resets: BTreeMap<u32, Arc<Operation>>,
    /// Memory that a reset took away, by first byte.
    pub(crate) taken: BTreeMap<usize, ReclaimedMemory>,
    pub(crate) failures: Vec<(Arc<Operation>, String)>,
    /// By thread: an asynchronous operation that was refused, and that the thread has not reacted to.
    pub(crate) unanswered: BTreeMap<u32, UncheckedError>,
    /// By thread: a request for memory that was refused, since when the thread has not tried again or freed any.
    pub(crate) exhausted: BTreeMap<u32, Arc<Operation>>,
    /// Where the program said that it is finished.
    pub(crate) finalized: Option<Arc<Operation>>,
    pub(crate) findings: Arc<Findings>,
    /// Called when something is proven for the first time.
    pub(crate) when_proven: Option<fn()>,
    known: HashMap<(&'static str, Vec<u64>), usize>,
    pub(crate) recent: VecDeque<Arc<Operation>>,
}

impl StreamProgress {
    /// A task is over: what it was.
    pub(crate) fn finish(&mut self, at: StreamPosition) -> Option<Arc<Operation>> {
        self.done = at.sequence;
        if let Some(flight) = self.flight(at) {
            return Some(Arc::clone(&flight.operation));
        }
        let index = self.retired.iter().position(|(landed, _)| *landed == at)?;
        Some(self.retired.swap_remove(index).1)
    }

    fn flight(&mut self, at: StreamPosition) -> Option<&mut InFlight> {
        let index = self.flights.partition_point(|flight| flight.at.sequence < at.sequence);
        self.flights.get_mut(index).filter(|flight| flight.at == at)
    }
}

/// What an operation is made from.
pub(crate) struct NewOperation<'a> {
    pub(crate) name: &'static str,
    pub(crate) at: Option<StreamPosition>,
    pub(crate) touches: &'a [Touch],
}

impl State {
    /// Notes something that the calling thread does now.
    pub(crate) fn operation(&mut self, facts: NewOperation<'_>, since: Instant) -> Arc<Operation> {
        let number = next_sequence();
        self.operation_at(number, facts, RawBacktrace::capture(), thread(), call(), micros(since))
    }

    pub(crate) fn operation_at(
        &mut self,
        number: u64,
        facts: NewOperation<'_>,
        spot: RawBacktrace,
        thread: u32,
        function: Option<&'static str>,
        time: f64,
    ) -> Arc<Operation> {
        let NewOperation { name, at, touches } = facts;
        let mut operation = Operation::new(number, name, function, at, thread, touches, spot, time);
        operation.launch = at.and_then(|at| self.launches.get(&at.stream).copied());
        let operation = Arc::new(operation);
        if self.recent.len() == DRAWN {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(&operation));
        operation
    }

    /// Adds a finding, or counts it when the same mistake was found at the same places before. A count of 0 is a
    /// part of something that was counted.
    pub(crate) fn add_finding(&mut self, mut found: PendingFinding) {
        if found.severity == Severity::Proven {
            self.prove();
        }
        let places = found.evidence.iter().map(|evidence| evidence.operation.spot.key()).collect();
        let mut list = self.findings.list();
        match self.known.entry((found.id, places)) {
            std::collections::hash_map::Entry::Occupied(known) => list[*known.get()].count += found.count,
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(list.len());
                found.count = found.count.max(1);
                list.push(found);
            }
        }
    }

    /// Something is proven: whoever wants to know is told the first time.
    pub(crate) fn prove(&mut self) {
        if let Some(call) = self.when_proven.take() {
            call();
        }
    }

    /// The allocation that contains an address.
    pub(crate) fn allocation(&self, address: usize) -> Option<(usize, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address < start + allocation.size).then_some((*start, allocation))
    }

    /// A range in words.
    pub(crate) fn describe(&self, address: usize, len: usize) -> String {
        match self.allocation(address) {
            Some((start, allocation)) => {
                let first = address - start;
                let registered = if allocation.is_registered {
                    "registered host memory".to_owned()
                } else {
                    allocation.place.describe()
                };
                format!(
                    "bytes {first} to {} of the {} bytes at {start:#x}, {registered}",
                    first + len.max(1) - 1,
                    allocation.size
                )
            }
            None => format!("{len} bytes at {address:#x}, ordinary host memory"),
        }
    }

    pub(crate) fn bytes(&self, address: usize, len: usize, mode: Mode) -> finding::Bytes {
        let mode = if mode == Mode::Read { finding::Mode::Read } else { finding::Mode::Write };
        finding::Bytes { address: address as u64, len: len as u64, mode, what: self.describe(address, len) }
    }

    /// An operation with those of its ranges that meet some bytes.
    pub(crate) fn evidence(
        &self,
        role: &'static str,
        operation: &Arc<Operation>,
        near: Option<(usize, usize)>,
    ) -> Evidence {
        let meets = |touch: &&Touch| {
            near.is_none_or(|(address, len)| touch.address < address + len && address < touch.address + touch.len)
        };
        let ranges = operation.touches.iter().filter(meets).take(SHOWN);
        let ranges = ranges.map(|touch| self.bytes(touch.address, touch.len, touch.mode)).collect();
        Evidence { role, operation: Arc::clone(operation), ranges }
    }

    /// Where the memory of an address was allocated, as a part of a finding.
    pub(crate) fn made(&self, address: usize) -> Option<Evidence> {
        let (_, allocation) = self.allocation(address)?;
        let role = if allocation.is_registered { "registered here" } else { "allocated here" };
        Some(Evidence { role, operation: Arc::clone(&allocation.made), ranges: Vec::new() })
    }

    /// All that are in flight.
    pub(crate) fn flights(&self) -> impl Iterator<Item = &InFlight> {
        self.courses.values().flat_map(|course| &course.flights)
    }

    pub(crate) fn flights_mut(&mut self) -> impl Iterator<Item = &mut InFlight> {
        self.courses.values_mut().flat_map(|course| &mut course.flights)
    }

    /// A task in flight.
    pub(crate) fn flight(&mut self, at: StreamPosition) -> Option<&mut InFlight> {
        self.courses.get_mut(&at.stream)?.flight(at)
    }

    /// The number of the newest task of a stream that has a task.
    pub(crate) fn newest(&self, at: StreamPosition) -> u64 {
        self.courses.get(&at.stream).map_or(at.sequence, |course| course.newest)
    }

    /// Whether a task waits for a sign that has not been seen: it may come after what happens now.
    pub(crate) fn is_behind_external_wait(&self, at: StreamPosition) -> bool {
        !self.external_waits.is_empty() && {
            let clock = self.clocks.of(at);
            self.external_waits.iter().any(|sign| clock.includes(*sign))
        }
    }

    /// Whether a task comes after a host function that is not over: what any thread does now may come before it.
    pub(crate) fn awaits_function(&self, at: StreamPosition) -> bool {
        !self.functions.is_empty() && {
            let clock = self.clocks.of(at);
            let first = |(stream, all): (&u32, &BTreeSet<u64>)| {
                Some(StreamPosition { stream: *stream, sequence: *all.first()? })
            };
            self.functions.iter().filter_map(first).any(|function| clock.includes(function))
        }
    }

    pub(crate) fn function_over(&mut self, at: StreamPosition) {
        if let Some(all) = self.functions.get_mut(&at.stream) {
            all.remove(&at.sequence);
            if all.is_empty() {
                self.functions.remove(&at.stream);
            }
        }
    }

    /// A wait for a sign is over. Whoever gave it had come no further than what is over by now.
    pub(crate) fn resolve_on_pass(&mut self, at: StreamPosition) {
        if self.external_waits.contains(&at) {
            let others = self.courses.iter().filter(|(stream, course)| **stream != at.stream && course.done > 0);
            let done: Vec<StreamPosition> =
                others.map(|(stream, course)| StreamPosition { stream: *stream, sequence: course.done }).collect();
            self.resolve_external_wait(at, &done);
        }
    }

    /// It is known who gives a sign. What the program did until now to memory of the tasks behind the wait was
    /// its right.
    pub(crate) fn resolve_external_wait(&mut self, at: StreamPosition, after: &[StreamPosition]) {
        self.external_waits.retain(|sign| *sign != at);
        self.clocks.add_edges_late(at, after);
        self.resnapshot_after(at);
    }

    /// Whatever has happened to sources of tasks behind this one was right: what they hold now is the measure.
    pub(crate) fn resnapshot_after(&mut self, at: StreamPosition) {
        let number = next_sequence();
        for flight in self.courses.values_mut().flat_map(|course| &mut course.flights) {
            if self.clocks.of(flight.at).includes(at) {
                flight.since = number;
                flight.prints.iter_mut().for_each(crate::snapshot::SourceSnapshot::refresh);
            }
        }
    }

    /// Takes out every flight that the host knows to be over.
    pub(crate) fn land(&mut self, guard: &Guard, time: f64) -> Vec<InFlight> {
        let host = self.clocks.host();
        let mut landed = Vec::new();
        for course in self.courses.values_mut() {
            while course.flights.front().is_some_and(|flight| host.includes(flight.at)) {
                landed.extend(course.flights.pop_front());
            }
        }
        for flight in &landed {
            if !flight.operation.has_finished()
                && let Some(course) = self.courses.get_mut(&flight.at.stream)
            {
                course.retired.push((flight.at, Arc::clone(&flight.operation)));
            }
            self.function_over(flight.at);
            self.printed -= flight.prints.len();
            flight.operation.wait(time);
            for touch in &flight.operation.touches {
                guard.remove(touch);
            }
        }
        landed
    }
}

impl State {
    /// The narrowest wait that covers a task.
    pub(crate) fn narrowest_wait(&self, task: &Operation) -> String {
        let Some(at) = task.visible_task() else { return "the end of the call that runs the graph".to_owned() };
        match self.newest(at).saturating_sub(at.sequence) {
            0 => format!("aclrtSynchronizeStream on stream {}, or an event recorded right after it", at.stream),
            behind => format!(
                "aclrtSynchronizeEvent on an event recorded on stream {} right after it ({behind} more {} queued behind it)",
                at.stream,
                if behind == 1 { "task is" } else { "tasks are" },
            ),
        }
    }
}

/// Microseconds since the start.
pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}
