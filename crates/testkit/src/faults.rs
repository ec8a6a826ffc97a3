//! Fault rules of a scenario, and the oracle that predicts their effects.
//!
//! A rule is formatted in the engine's rule language and parsed by the engine; the oracle counts matches independently.
//! Every rule is limited to one device that only one thread uses, so that the n-th task is the same on every schedule.

use fastrand::Rng;
use std::fmt;

/// Codes of injected damage, as documented for fault rules.
pub const ECC: i32 = 507_054;
pub const LINK: i32 = 507_056;
pub const LOST: i32 = 507_010;
pub const STREAM_TIMEOUT: i32 = 507_046;
pub const EVENT_TIMEOUT: i32 = 507_047;

/// API functions for which a world consults the rules.
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
    Kernel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectionPoint {
    /// A function, or all functions with a prefix that ends in `*`.
    Call(&'static str),
    /// One kind of task, or all kinds.
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
    /// Returns the code of `Code`, else `None`.
    pub fn code(self) -> Option<i32> {
        match self {
            Effect::Code(code) => Some(code),
            _ => None,
        }
    }
}

/// A fault rule. It counts matches of at least `at_least` bytes, and fires from match `first` to match `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultRule {
    pub point: InjectionPoint,
    pub at_least: u64,
    pub first: u64,
    pub last: u64,
    pub effect: Effect,
}

impl FaultRule {
    /// Generates a rule.
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
        let max = if matches!(point, InjectionPoint::Link | InjectionPoint::Allocation) { 6 } else { 30 };
        let first = rng.u64(1..max);
        let last = match (rng.u32(0..10), effect) {
            (0, Effect::Code(_) | Effect::SlowUs(_)) => u64::MAX,
            (1..=3, _) => first + rng.u64(1..4),
            _ => first,
        };
        let at_least = if rng.u32(0..4) == 0 { rng.u64(1..5000) } else { 0 };
        FaultRule { point, at_least, first, last, effect }
    }

    /// Formats the rule in the engine's rule language.
    pub fn text(&self, device: u32, peer: Option<u32>) -> String {
        let point = match self.point {
            InjectionPoint::Call(name) => name,
            InjectionPoint::Task(None) => "task",
            InjectionPoint::Task(Some(TaskKind::Copy)) => "copy",
            InjectionPoint::Task(Some(TaskKind::Batch)) => "batch",
            InjectionPoint::Task(Some(TaskKind::Plane)) => "plane",
            InjectionPoint::Task(Some(TaskKind::Fill)) => "fill",
            InjectionPoint::Task(Some(TaskKind::Reduce)) => "reduce",
            InjectionPoint::Task(Some(TaskKind::Kernel)) => "kernel",
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

/// Predicts what the rules of a thread do. It must be queried in the same order as the engine.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    rules: Vec<(FaultRule, u64)>,
    /// True after the link to the peer was lost.
    pub is_link_down: bool,
    /// True if a task failed with the code of a rule since the device was repaired.
    pub has_failed: bool,
}

impl Oracle {
    pub fn new(rules: &[FaultRule]) -> Oracle {
        Oracle { rules: rules.iter().map(|rule| (*rule, 0)).collect(), ..Oracle::default() }
    }

    /// True without rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn has_allocation_rules(&self) -> bool {
        self.rules.iter().any(|(rule, _)| rule.point == InjectionPoint::Allocation)
    }

    /// Counts a match for all rules that apply. Returns the effect of the first one that fires.
    fn first_firing(&mut self, applies: impl Fn(InjectionPoint) -> bool, size: usize) -> Option<Effect> {
        let mut first = None;
        for (rule, matched) in &mut self.rules {
            if applies(rule.point) && size as u64 >= rule.at_least {
                *matched += 1;
                if (rule.first..=rule.last).contains(matched) {
                    first.get_or_insert(rule.effect);
                }
            }
        }
        first
    }

    /// Predicts the effect on a call.
    pub fn call(&mut self, function: &str, size: usize) -> Option<Effect> {
        let applies = |point| match point {
            InjectionPoint::Call(name) => {
                name == function || name.strip_suffix('*').is_some_and(|s| function.starts_with(s))
            }
            _ => false,
        };
        self.first_firing(applies, size)
    }

    /// Predicts the code of an allocation. `None` if it succeeds.
    pub fn allocation(&mut self, size: usize) -> Option<i32> {
        match self.first_firing(|point| point == InjectionPoint::Allocation, size) {
            Some(Effect::Code(code)) => Some(code),
            _ => None,
        }
    }

    /// Predicts the code of a copy to or from the peer. `None` if it succeeds.
    pub fn crossing(&mut self, size: usize) -> Option<i32> {
        if self.is_link_down {
            return Some(LINK);
        }
        match self.first_firing(|point| point == InjectionPoint::Link, size)? {
            Effect::Code(code) => Some(code),
            _ => {
                self.is_link_down = true;
                Some(LINK)
            }
        }
    }

    /// Predicts the effect on a submitted task. Rules for the link precede those for tasks.
    pub fn task(&mut self, kind: TaskKind, size: usize, crosses: bool) -> Option<Effect> {
        if crosses && let Some(code) = self.crossing(size) {
            return Some(Effect::Code(code));
        }
        let applies = |point| matches!(point, InjectionPoint::Task(only) if only.is_none_or(|only| only == kind));
        let effect = self.first_firing(applies, size)?;
        self.has_failed |= matches!(effect, Effect::Code(_));
        Some(effect)
    }

    /// Clears the damage after a repair or reset of the device.
    pub fn repair(&mut self) {
        self.is_link_down = false;
        self.has_failed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_parses_every_generated_rule() {
        let words = softacl_faults::Vocabulary { function: |_| Ok(()), near: |_| None, code: |_| None };
        let mut rng = Rng::with_seed(1);
        for _ in 0..500 {
            let text = FaultRule::random(&mut rng).text(2, Some(3));
            let rules = softacl_faults::parse(&text, words).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(rules.len(), 1, "{text}");
        }
    }

    #[test]
    fn all_rules_count_and_the_first_firing_one_applies() {
        let rule =
            |first, effect| FaultRule { point: InjectionPoint::Task(None), at_least: 10, first, last: first, effect };
        let mut oracle = Oracle::new(&[rule(2, Effect::Stuck), rule(2, Effect::Lost), rule(3, Effect::Ecc)]);
        let sizes = [10, 9, 11, 12, 13];
        let found = sizes.map(|size| oracle.task(TaskKind::Fill, size, false));
        assert_eq!(found, [None, None, Some(Effect::Stuck), Some(Effect::Ecc), None]);
    }
}
