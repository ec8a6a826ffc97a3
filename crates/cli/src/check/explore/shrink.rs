//! Shrinking: an order is reduced to the decisions that matter.
//!
//! A decision is a constraint: a task runs after another step, although it could have run before. Everything else is
//! the default, in which every task runs as soon as it can.

use super::trace::Trace;
use softacl_engine::order::{Constraint, Step};
use std::collections::BTreeMap;

/// The constraints that make a program repeat a trace.
pub fn constraints(trace: &Trace) -> Vec<Constraint> {
    let mut held: BTreeMap<Step, Step> = BTreeMap::new();
    for taken in &trace.steps {
        // Only the last step that a task was held back for matters.
        let earlier = taken.enabled.iter().filter(|step| **step < taken.step && step.actor != taken.step.actor);
        held.extend(earlier.map(|task| (*task, taken.step)));
    }
    held.into_iter().map(|(task, after)| Constraint { task, after }).collect()
}

/// Removes constraints, in ever smaller groups, as long as the rest still fails. At most `tries` subsets are tried.
pub fn shrink(
    mut all: Vec<Constraint>,
    mut tries: usize,
    mut fails: impl FnMut(&[Constraint]) -> anyhow::Result<bool>,
) -> anyhow::Result<Vec<Constraint>> {
    let mut size = all.len();
    while size > 0 {
        let mut start = 0;
        while start < all.len() && tries > 0 {
            let end = (start + size).min(all.len());
            let rest: Vec<Constraint> = all[..start].iter().chain(&all[end..]).copied().collect();
            tries -= 1;
            if fails(&rest)? {
                all = rest;
            } else {
                start = end;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_hold_back_what_could_have_run() {
        let log = "step host.1 of host.1\ndid host.1\nstep host.2 of 1.1,2.1,host.2\ndid host.2\n\
                   step 2.1 of 1.1,2.1,host.3\ndid 2.1\nstep 1.1 of 1.1,host.3\ndid 1.1\n";
        let text: Vec<String> = constraints(&Trace::read(log)).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["task 1.1 after 2.1", "task 2.1 after host.2"]);
    }

    #[test]
    fn shrinking_keeps_what_matters() {
        let constraint = |number| Constraint {
            task: Step { actor: softacl_engine::order::Actor::Stream(1), number },
            after: Step { actor: softacl_engine::order::Actor::Host, number: 1 },
        };
        let all: Vec<Constraint> = (1..=40).map(constraint).collect();
        let mut runs = 0;
        let left = shrink(all, 200, |some| {
            runs += 1;
            Ok([7, 23].iter().all(|number| some.contains(&constraint(*number))))
        });
        assert_eq!(left.unwrap(), [constraint(7), constraint(23)]);
        assert!(runs < 60, "{runs}");
    }
}
