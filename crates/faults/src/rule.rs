//! A fault rule as data: where it applies, which of the matching events it fires for, and its effect.

use softacl_sync::facade::{AtomicU64, Mutex, Ordering, lock};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// A rule and its counters.
#[derive(Debug)]
pub struct Rule {
    /// The rule as the user wrote it.
    pub text: String,
    pub point: InjectionPoint,
    pub filters: Filters,
    pub when: When,
    pub effect: Effect,
    matched: AtomicU64,
    fired: AtomicU64,
    /// Match numbers for which the rule fired, up to `MAX_LISTED` of them.
    fired_at: Mutex<Vec<u64>>,
    /// How often the rule would have fired but an earlier rule decided.
    overruled: AtomicU64,
    /// Numbers of those earlier rules.
    deciders: Mutex<BTreeSet<usize>>,
}

/// Match numbers that the summary lists.
const MAX_LISTED: usize = 5;

/// The events that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectionPoint {
    /// Calls of a function. A `*` at the end of the name stands for any suffix.
    Call(String),
    /// Submits of tasks that access memory.
    Task(TaskKind),
    /// Allocations of device memory.
    Allocation,
    /// Copies from one device to another.
    Link,
    /// Requests of the library to the operating system.
    System(Resource),
}

/// Kinds of tasks that access memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    Any,
    Copy,
    Batch,
    Plane,
    Fill,
    Reduce,
    Kernel,
}

/// A system resource that a rule can refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Address space (`mmap`).
    Map,
    /// A memory file, which takes a file descriptor (`memfd_create`).
    MemoryFile,
    /// A change of page protection (`mprotect`).
    Protect,
    Thread,
    /// Memory for a list whose length the program chose.
    Buffer,
}

/// The words for injection points other than functions.
pub const POINTS: [(&str, InjectionPoint); 14] = [
    ("task", InjectionPoint::Task(TaskKind::Any)),
    ("copy", InjectionPoint::Task(TaskKind::Copy)),
    ("batch", InjectionPoint::Task(TaskKind::Batch)),
    ("plane", InjectionPoint::Task(TaskKind::Plane)),
    ("fill", InjectionPoint::Task(TaskKind::Fill)),
    ("reduce", InjectionPoint::Task(TaskKind::Reduce)),
    ("kernel", InjectionPoint::Task(TaskKind::Kernel)),
    ("allocation", InjectionPoint::Allocation),
    ("link", InjectionPoint::Link),
    ("mmap", InjectionPoint::System(Resource::Map)),
    ("memfd", InjectionPoint::System(Resource::MemoryFile)),
    ("mprotect", InjectionPoint::System(Resource::Protect)),
    ("thread", InjectionPoint::System(Resource::Thread)),
    ("buffer", InjectionPoint::System(Resource::Buffer)),
];

/// Conditions that an event must meet to count as a match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    pub sizes: Vec<(Comparison, u64)>,
    pub stream: Option<u64>,
    pub device: Option<u64>,
    pub peer: Option<u64>,
}

/// How a size filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// The values that filters test. A filter for a value that is `None` does not match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchContext {
    /// Bytes.
    pub size: Option<u64>,
    /// Stream id.
    pub stream: Option<u64>,
    /// Device id, as the program uses it.
    pub device: Option<u64>,
    /// The other device of a link, or of a task that accesses the memory of two.
    pub peer: Option<u64>,
}

/// Which of the matches the rule fires for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    Always,
    /// The matches from `first` to `last`, inclusive. The first match has number 1.
    Numbers {
        first: u64,
        last: u64,
    },
    /// Each match with a probability, determined by the seed and the match number alone.
    Chance {
        percent: f64,
        seed: u64,
    },
}

/// What a rule does when it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The call returns this code, or the task fails with it.
    Code(i32),
    /// The task starts after this delay.
    Slow(Duration),
    /// The task never starts.
    Stuck,
    /// Device memory becomes bad: the ranges that the task accesses, or a part of the allocation.
    Ecc(Option<ByteRange>),
    /// The device is lost until it is reset. For a link: the link is broken.
    Lost,
    /// The operating system refuses the request.
    Refused,
}

/// A part of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    pub offset: u64,
    pub len: u64,
}

impl Filters {
    fn matches(&self, context: &MatchContext) -> bool {
        let same = |wanted: Option<u64>, found: Option<u64>| wanted.is_none_or(|wanted| found == Some(wanted));
        // A link has no direction. A task belongs to the device of its stream, unless the rule names both ends.
        let is_link = context.peer.is_some() && (context.stream.is_none() || self.peer.is_some());
        let ends = (same(self.device, context.device) && same(self.peer, context.peer))
            || (is_link && same(self.device, context.peer) && same(self.peer, context.device));
        let sizes = self.sizes.iter().all(|(comparison, bound)| match (context.size, comparison) {
            (None, _) => false,
            (Some(size), Comparison::Equal) => size == *bound,
            (Some(size), Comparison::Less) => size < *bound,
            (Some(size), Comparison::AtMost) => size <= *bound,
            (Some(size), Comparison::More) => size > *bound,
            (Some(size), Comparison::AtLeast) => size >= *bound,
        });
        ends && sizes && same(self.stream, context.stream)
    }

    /// A device id of the filters that a machine with `devices` devices does not have.
    fn missing_device(&self, devices: usize) -> Option<u64> {
        [self.device, self.peer].into_iter().flatten().find(|device| *device >= devices as u64)
    }

    /// True if every event matches.
    pub fn is_empty(&self) -> bool {
        *self == Filters::default()
    }
}

impl When {
    /// True if the rule fires for match `number`.
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
    /// True if a rule for `self` applies to a task of kind `other`.
    pub fn covers(self, other: TaskKind) -> bool {
        self == TaskKind::Any || self == other
    }
}

impl Rule {
    /// A rule that has not matched yet.
    pub fn new(text: String, point: InjectionPoint, filters: Filters, when: When, effect: Effect) -> Rule {
        Rule {
            text,
            point,
            filters,
            when,
            effect,
            matched: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            fired_at: Mutex::default(),
            overruled: AtomicU64::new(0),
            deciders: Mutex::default(),
        }
    }

    /// Counts an event if the filters match. Returns the match number if the rule fires for it.
    pub fn count_match(&self, context: impl FnOnce() -> MatchContext) -> Option<u64> {
        if !self.filters.is_empty() && !self.filters.matches(&context()) {
            return None;
        }
        let number = self.matched.fetch_add(1, Ordering::Relaxed) + 1;
        self.when.holds(number).then_some(number)
    }

    /// Records that the rule decides for match `number`.
    pub fn fire(&self, number: u64) {
        self.fired.fetch_add(1, Ordering::Relaxed);
        let mut fired_at = lock(&self.fired_at);
        if fired_at.len() < MAX_LISTED {
            fired_at.push(number);
        }
    }

    /// Records that the rule would have fired but the rule with number `decider` decides.
    pub fn record_overruled(&self, decider: usize) {
        self.overruled.fetch_add(1, Ordering::Relaxed);
        lock(&self.deciders).insert(decider);
    }

    /// How many events matched.
    pub fn matched(&self) -> u64 {
        self.matched.load(Ordering::Relaxed)
    }

    /// How often the rule fired.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }

    /// The summary, such as `4 calls, fired once (call 3)`, for a machine with `devices` devices.
    pub fn summary(&self, devices: usize) -> String {
        let (matched, fired) = (self.matched(), self.fired());
        let noun = self.point.noun();
        let plural = if matched == 1 { "" } else { "s" };
        let fired_at = lock(&self.fired_at);
        let more = if fired > fired_at.len() as u64 { ", ..." } else { "" };
        let outcome = match fired {
            0 => "never fired".to_owned(),
            n => format!("fired {} ({noun} {}{more})", frequency(n), list(&*fired_at)),
        };
        // A call can name a device that does not exist, so such a filter alone does not mean that the rule cannot fire.
        let reason = match self.filters.missing_device(devices) {
            Some(device) if matched == 0 => format!("; device {device} does not exist"),
            _ => self.overruled_note(),
        };
        format!("{matched} {noun}{plural}, {outcome}{reason}")
    }

    /// The part of the summary for firings that another rule decided, such as `; met once, rule 1 decided`.
    fn overruled_note(&self) -> String {
        let overruled = self.overruled.load(Ordering::Relaxed);
        if overruled == 0 {
            return String::new();
        }
        let deciders = lock(&self.deciders);
        let rules = if deciders.len() == 1 { "rule" } else { "rules" };
        format!("; met {}, {rules} {} decided", frequency(overruled), list(&*deciders))
    }
}

fn frequency(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

impl InjectionPoint {
    /// The noun of the summary for what is counted.
    fn noun(&self) -> &'static str {
        match self {
            InjectionPoint::Call(_) => "call",
            InjectionPoint::Task(_) => "task",
            InjectionPoint::Allocation => "allocation",
            InjectionPoint::Link => "transfer",
            InjectionPoint::System(_) => "request",
        }
    }

    /// True if a rule at this point applies to calls of `function`.
    pub fn is_call_of(&self, function: &str) -> bool {
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
