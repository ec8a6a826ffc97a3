//! A fault rule as data: where it applies, which of the times, and what happens then.

use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// One rule, and what became of it so far.
#[derive(Debug)]
pub struct Rule {
    /// As it was written.
    pub text: String,
    pub point: InjectionPoint,
    pub filters: Filters,
    pub when: When,
    pub effect: Effect,
    matched: AtomicU64,
    fired: AtomicU64,
    /// Which of the times it fired, the first few.
    times: Mutex<Vec<u64>>,
    /// How often its time came while an earlier rule decided.
    overruled: AtomicU64,
    /// Numbers of the rules that did.
    deciders: Mutex<BTreeSet<usize>>,
}

/// Numbers that a report names.
const MAX_LISTED: usize = 5;

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectionPoint {
    /// Calls of a function; with a star at the end, of all functions that begin so.
    Call(String),
    /// Tasks that move bytes, when they are submitted.
    Task(TaskKind),
    /// Allocations of device memory.
    Allocation,
    /// Copies from one device to another.
    Link,
    /// What the library asks the operating system for.
    System(Resource),
}

/// Kinds of tasks that move bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    Any,
    Copy,
    Batch,
    Plane,
    Fill,
    Reduce,
}

/// What the operating system may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Addresses.
    Map,
    /// A file in memory, which costs a descriptor.
    MemoryFile,
    /// Other rights for pages.
    Protect,
    Thread,
    /// Memory for what the program has sized.
    Buffer,
}

/// Every word for a point that is no function.
pub(super) const POINTS: [(&str, InjectionPoint); 13] = [
    ("task", InjectionPoint::Task(TaskKind::Any)),
    ("copy", InjectionPoint::Task(TaskKind::Copy)),
    ("batch", InjectionPoint::Task(TaskKind::Batch)),
    ("plane", InjectionPoint::Task(TaskKind::Plane)),
    ("fill", InjectionPoint::Task(TaskKind::Fill)),
    ("reduce", InjectionPoint::Task(TaskKind::Reduce)),
    ("allocation", InjectionPoint::Allocation),
    ("link", InjectionPoint::Link),
    ("mmap", InjectionPoint::System(Resource::Map)),
    ("memfd", InjectionPoint::System(Resource::MemoryFile)),
    ("mprotect", InjectionPoint::System(Resource::Protect)),
    ("thread", InjectionPoint::System(Resource::Thread)),
    ("buffer", InjectionPoint::System(Resource::Buffer)),
];

/// What must be true of a call or task for the rule to count it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    pub sizes: Vec<(Comparison, u64)>,
    pub stream: Option<u64>,
    pub device: Option<u64>,
    pub peer: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Properties of a call, task or request that filters match. A filter for a property that is `None` does not match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchContext {
    /// Bytes.
    pub size: Option<u64>,
    /// Stream id.
    pub stream: Option<u64>,
    /// Device id, as the program uses it.
    pub device: Option<u64>,
    /// The other device of a link.
    pub peer: Option<u64>,
}

/// Which of the times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    Always,
    /// The first is 1; both ends count.
    Numbers {
        first: u64,
        last: u64,
    },
    /// Each time with a probability, decided by the seed and the number alone.
    Chance {
        percent: f64,
        seed: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The call returns this code, or the task fails with it.
    Code(i32),
    /// The task begins so much later.
    Slow(Duration),
    /// The task never begins.
    Stuck,
    /// Device memory goes bad: what the task touches, or a part of the allocation.
    Ecc(Option<ByteRange>),
    /// The device does not answer until it is reset; between two devices, the link is gone.
    Lost,
    /// The operating system refuses.
    Refused,
}

/// A part of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    pub offset: u64,
    pub len: u64,
}

impl Filters {
    fn matches(&self, facts: &MatchContext) -> bool {
        let same = |wanted: Option<u64>, found: Option<u64>| wanted.is_none_or(|wanted| found == Some(wanted));
        // A link has no direction.
        let ends = (same(self.device, facts.device) && same(self.peer, facts.peer))
            || (facts.peer.is_some() && same(self.device, facts.peer) && same(self.peer, facts.device));
        let sizes = self.sizes.iter().all(|(comparison, bound)| match (facts.size, comparison) {
            (None, _) => false,
            (Some(size), Comparison::Equal) => size == *bound,
            (Some(size), Comparison::Less) => size < *bound,
            (Some(size), Comparison::AtMost) => size <= *bound,
            (Some(size), Comparison::More) => size > *bound,
            (Some(size), Comparison::AtLeast) => size >= *bound,
        });
        ends && sizes && same(self.stream, facts.stream)
    }

    /// A device that is asked for and that is not among so many.
    fn missing_device(&self, devices: usize) -> Option<u64> {
        [self.device, self.peer].into_iter().flatten().find(|device| *device >= devices as u64)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Filters::default()
    }
}

impl When {
    fn holds(self, number: u64) -> bool {
        match self {
            When::Always => true,
            When::Numbers { first, last } => (first..=last).contains(&number),
            When::Chance { percent, seed } => {
                let mut random =
                    fastrand::Rng::with_seed(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
                random.f64() * 100.0 < percent
            }
        }
    }
}

impl TaskKind {
    pub(super) fn covers(self, other: TaskKind) -> bool {
        self == TaskKind::Any || self == other
    }
}

impl Rule {
    pub(super) fn new(text: String, point: InjectionPoint, filters: Filters, when: When, effect: Effect) -> Rule {
        Rule {
            text,
            point,
            filters,
            when,
            effect,
            matched: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            times: Mutex::default(),
            overruled: AtomicU64::new(0),
            deciders: Mutex::default(),
        }
    }

    /// Counts a time that fits; its number if it is one of those.
    pub(super) fn count_match(&self, facts: impl FnOnce() -> MatchContext) -> Option<u64> {
        if !self.filters.is_empty() && !self.filters.matches(&facts()) {
            return None;
        }
        let number = self.matched.fetch_add(1, Ordering::Relaxed) + 1;
        self.when.holds(number).then_some(number)
    }

    /// Its time has come, and it decides.
    pub(super) fn fire(&self, number: u64) {
        self.fired.fetch_add(1, Ordering::Relaxed);
        let mut times = lock(&self.times);
        if times.len() < MAX_LISTED {
            times.push(number);
        }
    }

    /// Its time has come, but the rule of this number decides.
    pub(super) fn record_overruled(&self, decider: usize) {
        self.overruled.fetch_add(1, Ordering::Relaxed);
        lock(&self.deciders).insert(decider);
    }

    /// How often the rule was asked.
    pub fn matched(&self) -> u64 {
        self.matched.load(Ordering::Relaxed)
    }

    /// How often it decided.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }

    /// Such as `4 calls, fired once (call 3)`, on a machine with so many devices.
    pub fn account(&self, devices: usize) -> String {
        let (matched, fired) = (self.matched(), self.fired());
        let noun = self.point.noun();
        let plural = if matched == 1 { "" } else { "s" };
        let times = lock(&self.times);
        let more = if fired > times.len() as u64 { ", ..." } else { "" };
        let outcome = match fired {
            0 => "never fired".to_owned(),
            n => format!("fired {} ({noun} {}{more})", often(n), list(&*times)),
        };
        // A call can name a device that there is not, so the filter alone does not say that it cannot fire.
        let reason = match self.filters.missing_device(devices) {
            Some(device) if matched == 0 => format!("; there is no device {device}"),
            _ => self.overruled_note(),
        };
        format!("{matched} {noun}{plural}, {outcome}{reason}")
    }

    /// Such as `; met once, rule 1 decided`, if another rule did.
    fn overruled_note(&self) -> String {
        let overruled = self.overruled.load(Ordering::Relaxed);
        if overruled == 0 {
            return String::new();
        }
        let deciders = lock(&self.deciders);
        let rules = if deciders.len() == 1 { "rule" } else { "rules" };
        format!("; met {}, {rules} {} decided", often(overruled), list(&*deciders))
    }
}

fn often(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

impl InjectionPoint {
    /// What is counted.
    fn noun(&self) -> &'static str {
        match self {
            InjectionPoint::Call(_) => "call",
            InjectionPoint::Task(_) => "task",
            InjectionPoint::Allocation => "allocation",
            InjectionPoint::Link => "transfer",
            InjectionPoint::System(_) => "request",
        }
    }

    pub(super) fn is_call_of(&self, function: &str) -> bool {
        match self {
            InjectionPoint::Call(pattern) => match pattern.strip_suffix('*') {
                Some(start) => function.starts_with(start),
                None => pattern == function,
            },
            _ => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
