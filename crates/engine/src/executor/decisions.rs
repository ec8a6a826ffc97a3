//! Decisions of a replayed order: which actor makes the next step, and the log of what every step did.
//!
//! Pure bookkeeping: no stream, no lock and no thread. `replay` finds out who can make a step, and lets it.

use crate::order::{Actor, Constraint, Footprint, Order, Step};
use softacl_sync::facade::{Mutex, lock};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// A replayed order: what to choose, and where the log goes.
pub struct Replay {
    pub order: Order,
    /// Receives one line per event. Written before the program continues, so that it survives a crash.
    pub log: Option<Mutex<Box<dyn Write + Send>>>,
    /// Ends the process: everything that can follow was run already.
    pub on_redundant: fn(),
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("order", &self.order).finish_non_exhaustive()
    }
}

/// The state of a replayed order.
pub(crate) struct Decisions {
    replay: Arc<Replay>,
    /// What is left of the order.
    order: Order,
    /// Choices made so far.
    made: usize,
    /// Steps made so far, as far as constraints name them.
    passed: HashSet<Step>,
    random: Option<Priorities>,
    /// The step that the host is in, and what it has touched.
    pub(crate) host: Step,
    host_footprint: Footprint,
    /// Number of calls that the host has made.
    calls: u64,
    lines: String,
}

struct Priorities {
    random: fastrand::Rng,
    of: HashMap<Actor, u64>,
    /// Steps at which the most urgent actor becomes the least urgent one.
    changes: Vec<u64>,
}

impl Decisions {
    pub(crate) fn new(replay: Arc<Replay>) -> Decisions {
        let random = replay.order.random.map(|setting| {
            let mut random = fastrand::Rng::with_seed(setting.seed);
            let count = setting.depth.saturating_sub(1);
            let changes = (0..count).map(|_| random.u64(..setting.steps.max(1))).collect();
            Priorities { random, of: HashMap::new(), changes }
        });
        Decisions {
            order: replay.order.clone(),
            replay,
            made: 0,
            passed: HashSet::new(),
            random,
            host: Step { actor: Actor::Host, number: 0 },
            host_footprint: Footprint::default(),
            calls: 0,
            lines: String::new(),
        }
    }

    /// Chooses who makes the next step. `enabled` has the next step of every actor that can make one, streams first.
    /// Does not return if everything that can follow was run already.
    pub(crate) fn choose(&mut self, enabled: &[Step]) -> Step {
        let forced = self.order.choices.get(self.made).copied();
        self.made += 1;
        let chosen = match forced {
            Some(actor) => enabled.iter().find(|step| step.actor == actor).copied().unwrap_or_else(|| {
                self.line(format_args!("diverged {actor}"));
                // The rest of the choices means nothing now.
                self.order.choices.truncate(self.made);
                enabled[0]
            }),
            None => self.choose_freely(enabled),
        };
        let list: Vec<String> = enabled.iter().map(ToString::to_string).collect();
        self.line(format_args!("step {chosen} of {}", list.join(",")));
        chosen
    }

    fn choose_freely(&mut self, enabled: &[Step]) -> Step {
        let is_asleep = |step: &Step| self.order.asleep.iter().any(|(asleep, _)| asleep == step);
        let awake: Vec<Step> = enabled.iter().filter(|step| !is_asleep(step)).copied().collect();
        if awake.is_empty() {
            self.line(format_args!("redundant"));
            self.flush();
            (self.replay.on_redundant)();
            return enabled[0];
        }
        if let Some(priorities) = &mut self.random {
            return priorities.choose(&awake, self.made as u64);
        }
        let waits = |step: &Step| {
            let waits = |constraint: &Constraint| constraint.task == *step && !self.passed.contains(&constraint.after);
            self.order.constraints.iter().any(waits)
        };
        awake.iter().find(|step| !waits(step)).copied().unwrap_or(awake[0])
    }

    /// Records what a step did.
    pub(crate) fn stepped(&mut self, step: Step, footprint: &Footprint) {
        self.line(format_args!("did {step}{footprint}"));
        self.passed.insert(step);
        if self.made >= self.order.choices.len() {
            self.order
                .asleep
                .retain(|(asleep, other)| asleep.actor != step.actor && !other.conflicts(*asleep, footprint, step));
        }
    }

    /// Ends the step that the host is in. The next one begins when the host is chosen.
    pub(crate) fn end_host_step(&mut self) {
        if self.host.number > 0 {
            let footprint = std::mem::take(&mut self.host_footprint);
            self.stepped(self.host, &footprint);
        }
        self.host.number += 1;
    }

    /// Adds to what the step of the host has touched.
    pub(crate) fn host_touched(&mut self, footprint: Footprint) {
        self.host_footprint.extend(footprint);
    }

    /// Records a task that was queued.
    pub(crate) fn submitted(&mut self, task: Step, footprint: &Footprint) {
        self.line(format_args!("queued {task}{footprint}"));
    }

    /// Records the function that the next step of the host is in.
    pub(crate) fn entered(&mut self, function: &str) {
        self.calls += 1;
        let calls = self.calls;
        self.line(format_args!("entered {calls} {function}"));
    }

    /// Records that the next step of the host follows its last call.
    pub(crate) fn left(&mut self) {
        let calls = self.calls;
        self.line(format_args!("left {calls}"));
    }

    /// Records that the program has ended.
    pub(crate) fn ended(&mut self) {
        self.line(format_args!("ended"));
    }

    /// Records that the order is not controlled, and why.
    pub(crate) fn uncontrolled(&mut self, why: &str) {
        self.line(format_args!("uncontrolled {why}"));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        if self.replay.log.is_some() {
            use fmt::Write as _;
            writeln!(self.lines, "{line}").expect("writing to a String cannot fail");
        }
    }

    /// Writes the log up to here.
    pub(crate) fn flush(&mut self) {
        if let Some(log) = &self.replay.log {
            // A reader notices a log that ends early.
            let _ = lock(log).write_all(self.lines.as_bytes());
            self.lines.clear();
        }
    }
}

impl Priorities {
    /// Returns the most urgent step, after a change that is due.
    fn choose(&mut self, enabled: &[Step], made: u64) -> Step {
        for step in enabled {
            let random = &mut self.random;
            // Priorities of changes are below those of actors.
            self.of.entry(step.actor).or_insert_with(|| random.u64(1 << 32..));
        }
        let urgent = |of: &HashMap<Actor, u64>| *enabled.iter().max_by_key(|step| of[&step.actor]).expect("not empty");
        if let Some(index) = self.changes.iter().position(|change| *change == made) {
            self.of.insert(urgent(&self.of).actor, index as u64);
        }
        urgent(&self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(order: &str) -> Decisions {
        let order = order.parse().expect("an order");
        Decisions::new(Arc::new(Replay { order, log: None, on_redundant: || panic!("redundant") }))
    }

    fn steps(text: &str) -> Vec<Step> {
        text.split(' ').map(|step| step.parse().expect("a step")).collect()
    }

    #[test]
    fn tasks_come_before_the_host_unless_a_choice_or_constraint_says_otherwise() {
        let enabled = steps("1.1 2.1 host.3");
        assert_eq!(decisions("").choose(&enabled), enabled[0]);
        assert_eq!(decisions("choose host").choose(&enabled), enabled[2]);
        let mut held = decisions("task 1.1 after host.3");
        assert_eq!(held.choose(&enabled), enabled[1]);
        assert_eq!(held.choose(&steps("1.1 host.3")), enabled[2]);
        held.stepped(enabled[2], &Footprint::default());
        assert_eq!(held.choose(&steps("1.1 host.4")), enabled[0]);
        assert_eq!(decisions("task 1.1 after 2.9").choose(&enabled[..1]), enabled[0], "nothing else can run");
    }

    #[test]
    fn sleeping_step_wakes_when_a_step_conflicts_with_it() {
        let mut order = decisions("asleep 1.1 w:10+4");
        assert_eq!(order.choose(&steps("1.1 2.1")), steps("2.1")[0]);
        order.stepped(steps("2.1")[0], &"w:20+4".parse().unwrap());
        assert_eq!(order.choose(&steps("1.1 2.2")), steps("2.2")[0]);
        order.stepped(steps("2.2")[0], &"r:12+4".parse().unwrap());
        assert_eq!(order.choose(&steps("1.1 2.3")), steps("1.1")[0]);
    }

    #[test]
    fn random_priorities_are_reproducible() {
        let run = |seed: u64| {
            let mut order = decisions(&format!("random {seed} 3 20"));
            (0..20).map(|_| order.choose(&steps("1.1 2.1 host.1")).actor).collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert!((0..20).any(|seed| run(seed) != run(7)));
    }
}
