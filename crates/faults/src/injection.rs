//! The fault rules of a machine: which one fires for a call, a task or a system resource, and the summary at exit.

use crate::damage::Damage;
use crate::rule::{Effect, InjectionPoint, MatchContext, Resource, Rule};
use softacl_errors::Error;
use softacl_sync::facade::{Mutex, MutexGuard, lock};

/// The fault rules of a machine and the damage that they have done.
#[derive(Debug)]
pub struct Injection {
    rules: Vec<Rule>,
    /// True if a rule applies to API calls.
    watches_calls: bool,
    /// Number of devices that are visible to the program.
    devices: usize,
    damage: Mutex<Damage>,
}

/// The rule that decides for a call, task or system resource.
#[derive(Debug, Clone, Copy)]
pub struct FiredRule<'a> {
    pub effect: Effect,
    number: usize,
    rule: &'a Rule,
}

impl Injection {
    /// Rules for a machine with `devices` devices.
    pub fn new(rules: Vec<Rule>, devices: usize) -> Injection {
        let watches_calls = rules.iter().any(|rule| matches!(rule.point, InjectionPoint::Call(_)));
        Injection { rules, watches_calls, devices, damage: Mutex::default() }
    }

    /// The damage done so far.
    pub fn damage(&self) -> MutexGuard<'_, Damage> {
        lock(&self.damage)
    }

    /// All rules, in the order in which they were written.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Counts an API call for every matching rule. Returns the first rule that fires.
    pub fn call(&self, function: &str, context: impl Fn() -> MatchContext) -> Option<FiredRule<'_>> {
        if !self.watches_calls {
            return None;
        }
        self.first_firing(|point| point.is_call_of(function), context)
    }

    /// Returns `true` if a rule refuses a request to the operating system. `size` is in bytes, or 1 for a thread or a
    /// file.
    pub fn refuses(&self, resource: Resource, size: usize) -> bool {
        let context = || MatchContext { size: Some(size as u64), ..MatchContext::default() };
        self.first_firing(|point| *point == InjectionPoint::System(resource), context).is_some()
    }

    /// Counts an event for every matching rule. Returns the first rule that fires; only that one is recorded as fired.
    pub fn first_firing(
        &self,
        applies: impl Fn(&InjectionPoint) -> bool,
        context: impl Fn() -> MatchContext,
    ) -> Option<FiredRule<'_>> {
        let mut first: Option<FiredRule<'_>> = None;
        // A call without a device, or with one that does not exist, cannot lose a device.
        let can_lose = || context().device.is_some_and(|device| device < self.devices as u64);
        for (index, rule) in self.rules.iter().enumerate().filter(|(_, rule)| applies(&rule.point)) {
            let is_possible = match rule.effect {
                Effect::Lost => can_lose(),
                // Memory beyond the end of an allocation cannot become bad.
                Effect::Ecc(Some(part)) => context().size.is_some_and(|size| part.offset < size),
                _ => true,
            };
            if !is_possible {
                continue;
            }
            let Some(number) = rule.count_match(&context) else { continue };
            match &first {
                Some(decided) => rule.record_overruled(decided.number),
                None => {
                    rule.fire(number);
                    first = Some(FiredRule { effect: rule.effect, number: index + 1, rule });
                }
            }
        }
        first
    }

    /// The fault-injection summary: one line per rule, with matches and firings.
    pub fn summary(&self) -> Vec<String> {
        let width = self.rules.iter().map(|rule| rule.text.chars().count()).max().unwrap_or(0).min(48);
        let line = |(index, rule): (usize, &Rule)| {
            format!("rule {} {:width$}  {}", index + 1, rule.text, rule.summary(self.devices))
        };
        self.rules.iter().enumerate().map(line).collect()
    }
}

impl FiredRule<'_> {
    /// An error with this code, whose sentence names the rule.
    pub fn error(&self, code: i32) -> Error {
        self.error_with(code, "")
    }

    /// An error with this code, whose sentence names the rule after `what`. A non-empty `what` ends with "; ".
    pub fn error_with(&self, code: i32, what: &str) -> Error {
        Error::Injected { code, what: format!("{what}injected by fault rule {}: {}", self.number, self.rule) }
    }
}
