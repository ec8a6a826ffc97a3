//! Traces: the steps of one run, read from the log of its replayed order.

use softacl_engine::order::{Actor, Footprint, Step};
use std::collections::{BTreeSet, HashMap};

/// The steps of one run, in order.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    pub steps: Vec<Taken>,
    /// Tasks that were queued: the index of the step that queued each, and what it depends on.
    pub queued: HashMap<Step, (usize, Footprint)>,
    pub end: End,
    /// Why the order was not controlled. Nothing after the first reason is known to be repeatable.
    pub uncontrolled: BTreeSet<String>,
    /// The run did not follow its order.
    pub has_diverged: bool,
    /// Number of API calls.
    pub calls: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// The program has ended.
    Complete,
    /// Everything that could follow was run already.
    Redundant,
    /// The process ended without finishing its log.
    #[default]
    CutOff,
}

/// A step that was made.
#[derive(Debug, Clone)]
pub struct Taken {
    pub step: Step,
    /// The steps that could have been made instead, and this one.
    pub enabled: Vec<Step>,
    pub footprint: Footprint,
    /// Where the host was.
    pub place: Place,
}

/// Where the host is: inside a call, or behind one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Number of the call, counted from 1.
    pub call: u64,
    pub is_inside: bool,
}

impl Trace {
    /// Reads a log. A line that is cut off ends it.
    pub fn read(log: &str) -> Trace {
        let mut trace = Trace::default();
        let mut place = Place::default();
        for line in log.lines() {
            if trace.add(line, &mut place).is_none() {
                break;
            }
        }
        trace
    }

    fn add(&mut self, line: &str, place: &mut Place) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let split = |rest: &'_ str| -> Option<(Step, Footprint)> {
            let (step, footprint) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((step.parse().ok()?, footprint.parse().ok()?))
        };
        match word {
            "step" => {
                let (step, enabled) = rest.split_once(" of ")?;
                let enabled: Option<Vec<Step>> = enabled.split(',').map(|step| step.parse().ok()).collect();
                let step: Step = step.parse().ok()?;
                // Until the step reports what it did, it counts as one that may have done anything.
                let footprint = Footprint { is_global: true, ..Footprint::default() };
                self.steps.push(Taken { step, enabled: enabled?, footprint, place: *place });
            }
            "did" => {
                let (step, footprint) = split(rest)?;
                let taken = self.steps.iter_mut().rev().find(|taken| taken.step == step)?;
                taken.footprint = footprint;
            }
            "queued" => {
                let (task, footprint) = split(rest)?;
                self.queued.insert(task, (self.steps.len().saturating_sub(1), footprint));
            }
            "entered" => {
                let call = rest.split(' ').next()?.parse().ok()?;
                self.calls = call;
                *place = Place { call, is_inside: true };
            }
            "left" => *place = Place { call: rest.parse().ok()?, is_inside: false },
            "uncontrolled" => _ = self.uncontrolled.insert(rest.to_owned()),
            "diverged" => self.has_diverged = true,
            "redundant" => self.end = End::Redundant,
            "ended" => self.end = End::Complete,
            _ => return None,
        }
        Some(())
    }

    /// The actors that made steps.
    pub fn actors(&self) -> BTreeSet<Actor> {
        self.steps.iter().map(|taken| taken.step.actor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_is_read_up_to_a_line_that_is_cut_off() {
        let log = "entered 1 aclrtMemsetAsync\nstep host.1 of host.1\nqueued 1.1 w:10+4\ndid host.1\nleft 1\n\
                   step 1.1 of 1.1,host.2\ndid 1.1 w:10+4\nstep host.2 of host.2\nuncontrolled threads\ndid ho";
        let trace = Trace::read(log);
        assert_eq!(trace.steps.len(), 3);
        assert_eq!(trace.queued[&"1.1".parse().unwrap()].0, 0);
        assert_eq!(trace.steps[1].footprint.touches.len(), 1);
        assert!(trace.steps[2].footprint.is_global, "unknown");
        assert_eq!(trace.steps[1].place, Place { call: 1, is_inside: false });
        assert_eq!(trace.end, End::CutOff);
        assert!(trace.uncontrolled.contains("threads"));
    }
}
