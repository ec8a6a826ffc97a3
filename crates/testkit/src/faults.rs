//! Faults in a scenario: rules as the program's world knows them, and what they must do.
//!
//! A rule is written in the language of the engine and read by the engine; the oracle counts on its own. Every
//! rule is about one device that only one thread uses, so that the n-th task is the same one on every schedule.

use fastrand::Rng;
use std::fmt;

/// Codes for damage, as the documents of fault rules name them.
pub const ECC: i32 = 507_054;
pub const LINK: i32 = 507_056;
pub const LOST: i32 = 507_010;
pub const STREAM_TIMEOUT: i32 = 507_046;
pub const EVENT_TIMEOUT: i32 = 507_047;

/// Calls of the interface that a world makes, by name.
pub const CALLS: [&str; 6] = [
    "aclrtMalloc",
    "aclrtMemcpy",
    "aclrtMemcpyAsync",
    "aclrtMemcpyBatchAsync",
    "aclrtMemsetAsync",
    "aclrtCreateStream",
];

/// Kinds of tasks that move bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    Copy,
    Batch,
    Plane,
    Fill,
    Reduce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectionPoint {
    /// A function, or all that begin so.
    Call(&'static str),
    /// One kind of task, or all.
    Task(Option<TaskKind>),
    Allocation,
    /// Copies between the device and its peer.
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Code(i32),
    SlowUs(u32),
    Stuck,
    Ecc,
    Lost,
}

impl Effect {
    /// The code, if it is one.
    pub fn code(self) -> Option<i32> {
        match self {
            Effect::Code(code) => Some(code),
            _ => None,
        }
    }
}

/// One rule. It counts what has at least so many bytes, and fires from the first to the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultRule {
    pub point: InjectionPoint,
    pub at_least: u64,
    pub first: u64,
    pub last: u64,
    pub effect: Effect,
}

impl FaultRule {
    pub fn random(rng: &mut Rng) -> FaultRule {
        let kinds =
            [TaskKind::Copy, TaskKind::Copy, TaskKind::Batch, TaskKind::Plane, TaskKind::Fill, TaskKind::Reduce];
        let point = match rng.u32(0..10) {
            0..=1 => InjectionPoint::Call(if rng.u32(0..4) == 0 { "acl*" } else { CALLS[rng.usize(..CALLS.len())] }),
            2 => InjectionPoint::Task(None),
            3..=6 => InjectionPoint::Task(Some(kinds[rng.usize(..kinds.len())])),
            7 => InjectionPoint::Allocation,
            _ => InjectionPoint::Link,
        };
        let code = Effect::Code([507_013, 507_899, 507_013, 507_899, 507_011][rng.usize(..5)]);
        let effect = match (point, rng.u32(0..10)) {
            (InjectionPoint::Call(_), 0) => Effect::Lost,
            (InjectionPoint::Call(_) | InjectionPoint::Allocation, _) => {
                Effect::Code([207_001, 507_899][rng.usize(..2)])
            }
            (InjectionPoint::Link, 0..=4) => Effect::Lost,
            (InjectionPoint::Task(_), 0..=1) => Effect::SlowUs(rng.u32(1..2000)),
            (InjectionPoint::Task(_), 2) => Effect::Stuck,
            (InjectionPoint::Task(_), 3) => Effect::Ecc,
            (InjectionPoint::Task(_), 4) => Effect::Lost,
            _ => code,
        };
        let most = if matches!(point, InjectionPoint::Link | InjectionPoint::Allocation) { 6 } else { 30 };
        let first = rng.u64(1..most);
        let last = match (rng.u32(0..10), effect) {
            (0, Effect::Code(_) | Effect::SlowUs(_)) => u64::MAX,
            (1..=3, _) => first + rng.u64(1..4),
            _ => first,
        };
        let at_least = if rng.u32(0..4) == 0 { rng.u64(1..5000) } else { 0 };
        FaultRule { point, at_least, first, last, effect }
    }

    /// The rule in the language of the engine.
    pub fn text(&self, device: u32, peer: Option<u32>) -> String {
        let point = match self.point {
            InjectionPoint::Call(name) => name,
            InjectionPoint::Task(None) => "task",
            InjectionPoint::Task(Some(TaskKind::Copy)) => "copy",
            InjectionPoint::Task(Some(TaskKind::Batch)) => "batch",
            InjectionPoint::Task(Some(TaskKind::Plane)) => "plane",
            InjectionPoint::Task(Some(TaskKind::Fill)) => "fill",
            InjectionPoint::Task(Some(TaskKind::Reduce)) => "reduce",
            InjectionPoint::Allocation => "allocation",
            InjectionPoint::Link => "link",
        };
        let mut filters = format!("device={device}");
        if let (InjectionPoint::Link, Some(peer)) = (self.point, peer) {
            filters += &format!(", peer={peer}");
        }
        if self.at_least > 0 {
            filters += &format!(", size>={}", self.at_least);
        }
        let when = match self.last {
            u64::MAX => format!("{}+", self.first),
            last if last == self.first => last.to_string(),
            last => format!("{}-{last}", self.first),
        };
        let effect = match self.effect {
            Effect::Code(code) => code.to_string(),
            Effect::SlowUs(us) => format!("slow {us}us"),
            Effect::Stuck => "stuck".to_owned(),
            Effect::Ecc => "ecc".to_owned(),
            Effect::Lost => "lost".to_owned(),
        };
        format!("{point}[{filters}]@{when}={effect}")
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(0, Some(1)))
    }
}

/// What the rules of a thread will do next. It is asked in the order in which the engine is.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    rules: Vec<(FaultRule, u64)>,
    /// Whether the link to the peer is gone.
    pub is_cut: bool,
    /// Whether a task failed with a code that a rule named, since the device was repaired.
    pub has_failed: bool,
}

impl Oracle {
    pub fn new(rules: &[FaultRule]) -> Oracle {
        Oracle { rules: rules.iter().map(|rule| (*rule, 0)).collect(), ..Oracle::default() }
    }

    pub fn is_silent(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn has_allocation_rules(&self) -> bool {
        self.rules.iter().any(|(rule, _)| rule.point == InjectionPoint::Allocation)
    }

    /// All rules that fit count; the first one that fires decides.
    fn first_firing(&mut self, fits: impl Fn(InjectionPoint) -> bool, size: usize) -> Option<Effect> {
        let mut first = None;
        for (rule, matched) in &mut self.rules {
            if fits(rule.point) && size as u64 >= rule.at_least {
                *matched += 1;
                if (rule.first..=rule.last).contains(matched) {
                    first.get_or_insert(rule.effect);
                }
            }
        }
        first
    }

    pub fn call(&mut self, function: &str, size: usize) -> Option<Effect> {
        let is_of = |point| match point {
            InjectionPoint::Call(name) => {
                name == function || name.strip_suffix('*').is_some_and(|s| function.starts_with(s))
            }
            _ => false,
        };
        self.first_firing(is_of, size)
    }

    /// The code that an allocation gets.
    pub fn allocation(&mut self, size: usize) -> Option<i32> {
        match self.first_firing(|point| point == InjectionPoint::Allocation, size) {
            Some(Effect::Code(code)) => Some(code),
            _ => None,
        }
    }

    /// The code that a copy to or from the peer gets.
    pub fn crossing(&mut self, size: usize) -> Option<i32> {
        if self.is_cut {
            return Some(LINK);
        }
        match self.first_firing(|point| point == InjectionPoint::Link, size)? {
            Effect::Code(code) => Some(code),
            _ => {
                self.is_cut = true;
                Some(LINK)
            }
        }
    }

    /// What a task meets when it is submitted; a link comes before the rules for tasks.
    pub fn task(&mut self, kind: TaskKind, size: usize, crosses: bool) -> Option<Effect> {
        if crosses && let Some(code) = self.crossing(size) {
            return Some(Effect::Code(code));
        }
        let covers =
            |point| matches!(point, InjectionPoint::Task(wanted) if wanted.is_none_or(|wanted| wanted == kind));
        let effect = self.first_firing(covers, size)?;
        self.has_failed |= matches!(effect, Effect::Code(_));
        Some(effect)
    }

    /// The device was repaired, or reset.
    pub fn repair(&mut self) {
        self.is_cut = false;
        self.has_failed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_reads_what_is_drawn() {
        let words = softacl_faults::Vocabulary { function: |_| Ok(()), near: |_| None, code: |_| None };
        let mut rng = Rng::with_seed(1);
        for _ in 0..500 {
            let text = FaultRule::random(&mut rng).text(2, Some(3));
            let rules = softacl_faults::parse(&text, words).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(rules.len(), 1, "{text}");
        }
    }

    #[test]
    fn all_rules_count_and_the_first_decides() {
        let rule =
            |first, effect| FaultRule { point: InjectionPoint::Task(None), at_least: 10, first, last: first, effect };
        let mut oracle = Oracle::new(&[rule(2, Effect::Stuck), rule(2, Effect::Lost), rule(3, Effect::Ecc)]);
        let sizes = [10, 9, 11, 12, 13];
        let found = sizes.map(|size| oracle.task(TaskKind::Fill, size, false));
        assert_eq!(found, [None, None, Some(Effect::Stuck), Some(Effect::Ecc), None]);
    }
}
