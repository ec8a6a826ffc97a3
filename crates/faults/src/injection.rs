//! The rules of a machine: which rule fires for a call, a task or a system resource, and what the rules have done.

use crate::damage::Damage;
use crate::rule::{Effect, InjectionPoint, MatchContext, Resource, Rule};
use softacl_errors::Error;
use softacl_sync::facade::{Mutex, MutexGuard, lock};

/// The rules of a machine and what they have done to it.
#[derive(Debug)]
pub struct Injection {
    rules: Vec<Rule>,
    /// Whether a rule looks at calls of the interface.
    watches_calls: bool,
    /// Devices that the program sees.
    devices: usize,
    damage: Mutex<Damage>,
}

/// A rule that fires now.
#[derive(Debug, Clone, Copy)]
pub struct FiredRule<'a> {
    pub effect: Effect,
    number: usize,
    rule: &'a Rule,
}

impl Injection {
    /// Rules for a machine with so many devices.
    pub fn new(rules: Vec<Rule>, devices: usize) -> Injection {
        let watches_calls = rules.iter().any(|rule| matches!(rule.point, InjectionPoint::Call(_)));
        Injection { rules, watches_calls, devices, damage: Mutex::default() }
    }

    /// What injected faults have left behind.
    pub fn damage(&self) -> MutexGuard<'_, Damage> {
        lock(&self.damage)
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// A call of the interface is about to be made.
    pub fn call(&self, function: &str, facts: impl Fn() -> MatchContext) -> Option<FiredRule<'_>> {
        if !self.watches_calls {
            return None;
        }
        self.first_firing(|point| point.is_call_of(function), facts)
    }

    /// The operating system is about to be asked for so many bytes, or one of something.
    pub fn refuses(&self, resource: Resource, size: usize) -> bool {
        let facts = || MatchContext { size: Some(size as u64), ..MatchContext::default() };
        self.first_firing(|point| *point == InjectionPoint::System(resource), facts).is_some()
    }

    /// Every rule that fits counts; the first whose time it is decides, and only that one has fired.
    pub fn first_firing(
        &self,
        fits: impl Fn(&InjectionPoint) -> bool,
        facts: impl Fn() -> MatchContext,
    ) -> Option<FiredRule<'_>> {
        let mut first: Option<FiredRule<'_>> = None;
        // Nothing can be lost by a call without a device, or with one that there is not.
        let can_lose = || facts().device.is_some_and(|device| device < self.devices as u64);
        for (index, rule) in self.rules.iter().enumerate().filter(|(_, rule)| fits(&rule.point)) {
            let is_possible = match rule.effect {
                Effect::Lost => can_lose(),
                // Nor can memory go bad behind the end of an allocation.
                Effect::Ecc(Some(part)) => facts().size.is_some_and(|size| part.offset < size),
                _ => true,
            };
            if !is_possible {
                continue;
            }
            let Some(time) = rule.count_match(&facts) else { continue };
            match &first {
                Some(decided) => rule.record_overruled(decided.number),
                None => {
                    rule.fire(time);
                    first = Some(FiredRule { effect: rule.effect, number: index + 1, rule });
                }
            }
        }
        first
    }

    /// What the rules did, a line for each.
    pub fn summary(&self) -> Vec<String> {
        let width = self.rules.iter().map(|rule| rule.text.chars().count()).max().unwrap_or(0).min(48);
        let line = |(index, rule): (usize, &Rule)| {
            format!("rule {} {:width$}  {}", index + 1, rule.text, rule.account(self.devices))
        };
        self.rules.iter().enumerate().map(line).collect()
    }
}

impl FiredRule<'_> {
    /// The error that the program sees for a code.
    pub fn error(&self, code: i32) -> Error {
        self.error_with(code, "")
    }

    pub fn error_with(&self, code: i32, what: &str) -> Error {
        Error::Injected { code, what: format!("{what}injected by fault rule {}: {}", self.number, self.rule) }
    }
}
