//! Races: pairs of steps in a trace that conflict and could have come in the other order.
//!
//! A step happens after the earlier steps of its actor, after the step that queued it, after the steps that it waits
//! for, and after every earlier step that it conflicts with. A conflict that no other step enforces is a race.

use super::trace::Trace;
use softacl_engine::order::{Actor, Footprint, Step};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// What a trace says about other orders.
pub struct Races {
    pub races: Vec<Race>,
    /// Equal for traces that differ only in the order of steps without a conflict.
    pub fingerprint: u64,
}

/// The later step of a race could have come before the step at index `before`.
#[derive(Debug, PartialEq, Eq)]
pub struct Race {
    pub before: usize,
    /// Actors that can lead there: the first step of each after `before` needs no other step after it.
    pub initials: Vec<Actor>,
}

/// For each actor, one more than the index of its last step that happens before.
type Clock = Vec<usize>;

struct Analysis<'a> {
    trace: &'a Trace,
    /// Index of each actor in a clock.
    actors: HashMap<Actor, usize>,
    /// Index in the trace of each step.
    positions: HashMap<Step, usize>,
    clocks: Vec<Clock>,
}

/// Finds the races whose later step is at index `from` or later.
pub fn find(trace: &Trace, from: usize) -> Races {
    let actors: HashMap<Actor, usize> = trace
        .actors()
        .into_iter()
        .chain(trace.queued.keys().map(|step| step.actor))
        .fold(HashMap::new(), |mut all, actor| {
            let next = all.len();
            all.entry(actor).or_insert(next);
            all
        });
    let positions = trace.steps.iter().enumerate().map(|(index, taken)| (taken.step, index)).collect();
    let mut analysis = Analysis { trace, actors, positions, clocks: Vec::new() };
    let mut found = Races { races: Vec::new(), fingerprint: 0 };
    for (index, taken) in trace.steps.iter().enumerate() {
        let (clock, earlier) = analysis.clock(taken.step, &taken.footprint, index);
        found.fingerprint = found.fingerprint.wrapping_add(hash(&(taken.step, true)));
        for other in &earlier.immediate {
            found.fingerprint = found.fingerprint.wrapping_add(hash(&(trace.steps[*other].step, taken.step)));
        }
        if index >= from {
            let races = if taken.footprint.is_wait { &earlier.all } else { &earlier.immediate };
            found.races.extend(races.iter().map(|before| analysis.race(*before, index, taken.step.actor, &clock)));
        }
        let own = analysis.actors[&taken.step.actor];
        analysis.clocks.push(clock);
        analysis.clocks[index][own] = index + 1;
    }
    // Tasks that were never run can still conflict: something else has prevented them.
    let end = trace.steps.len();
    for (task, (_, footprint)) in analysis.waiting() {
        let (clock, earlier) = analysis.clock(task, &footprint, end);
        found.races.extend(earlier.all.iter().map(|before| analysis.race(*before, end, task.actor, &clock)));
    }
    found
}

/// Earlier steps that a step conflicts with and that nothing else orders.
struct Earlier {
    all: Vec<usize>,
    /// Those that no other conflict orders.
    immediate: Vec<usize>,
}

impl Analysis<'_> {
    /// The clock of a step at `index`, without itself.
    fn clock(&self, step: Step, footprint: &Footprint, index: usize) -> (Clock, Earlier) {
        let steps = &self.trace.steps;
        let mut base: Clock = vec![0; self.actors.len()];
        let own = steps[..index].iter().rposition(|taken| taken.step.actor == step.actor);
        let creator = self.trace.queued.get(&step).map(|(creator, _)| *creator).filter(|creator| *creator < index);
        let after = footprint.after.iter().filter_map(|step| self.positions.get(step).copied());
        for earlier in own.into_iter().chain(creator).chain(after).filter(|earlier| *earlier < index) {
            join(&mut base, &self.clocks[earlier]);
        }
        let includes = |clock: &Clock, other: usize| clock[self.actors[&steps[other].step.actor]] > other;
        let mut clock = base.clone();
        let mut earlier = Earlier { all: Vec::new(), immediate: Vec::new() };
        for other in (0..index).rev() {
            let taken = &steps[other];
            if taken.step.actor == step.actor
                || includes(&base, other)
                || !footprint.conflicts(step, &taken.footprint, taken.step)
            {
                continue;
            }
            earlier.all.push(other);
            if !includes(&clock, other) {
                earlier.immediate.push(other);
                join(&mut clock, &self.clocks[other]);
            }
        }
        (clock, earlier)
    }

    /// The race of the step at `before` with a step of `actor` at `index`.
    fn race(&self, before: usize, index: usize, actor: Actor, clock: &Clock) -> Race {
        let steps = &self.trace.steps;
        let own = self.actors[&steps[before].step.actor];
        // Steps between the two that do not depend on the first one.
        let free: Vec<usize> = (before + 1..index).filter(|other| self.clocks[*other][own] <= before).collect();
        let needs_none = |clock: &Clock, until: usize| {
            let is_needed = |other: &&usize| clock[self.actors[&steps[**other].step.actor]] > **other;
            !free.iter().take_while(|other| **other < until).any(|other| is_needed(&other))
        };
        let mut initials = Vec::new();
        for other in &free {
            let actor = steps[*other].step.actor;
            let is_first = !free.iter().take_while(|earlier| *earlier < other).any(|e| steps[*e].step.actor == actor);
            if is_first && needs_none(&self.clocks[*other], *other) {
                initials.push(actor);
            }
        }
        if needs_none(clock, index) && !initials.contains(&actor) {
            initials.insert(0, actor);
        }
        Race { before, initials }
    }

    /// The first task of every stream that was queued and never run.
    fn waiting(&self) -> Vec<(Step, (usize, Footprint))> {
        let mut first: HashMap<Actor, (Step, (usize, Footprint))> = HashMap::new();
        for (task, queued) in self.trace.queued.iter().filter(|(task, _)| !self.positions.contains_key(task)) {
            let entry = first.entry(task.actor).or_insert_with(|| (*task, queued.clone()));
            if task.number < entry.0.number {
                *entry = (*task, queued.clone());
            }
        }
        first.into_values().collect()
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
