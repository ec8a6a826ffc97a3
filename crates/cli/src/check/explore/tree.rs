//! The tree of orders: which were run, and which are left.
//!
//! Dynamic partial-order reduction with source sets and sleep sets. Every run is analyzed for races; each race adds a
//! branch where the later step, or a step that leads to it, comes first. A branch puts the branches before it to sleep:
//! a run that would only exchange steps without a conflict ends at once. Programs may be nondeterministic, so that a
//! run can leave its branch; it is then counted and not used.
//!
//! Pure: it names the orders to run, and is given their traces.

use super::races;
use super::trace::{End, Taken, Trace};
use softacl_engine::order::{Actor, Footprint, Order, Step};
use std::collections::HashSet;
use std::sync::Arc;

/// All orders of a program, as far as they are known.
#[derive(Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// Branches that are left, the next one last.
    pending: Vec<Branch>,
    has_started: bool,
    /// Fingerprints of the orders that were run to their end.
    orders: HashSet<u64>,
    /// Runs that ended early because they could add nothing, or that added nothing.
    pub redundant: u64,
    /// Runs that did not follow their order.
    pub diverged: u64,
}

/// A branch of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Branch {
    node: usize,
    actor: Actor,
}

/// An order to run.
#[derive(Debug)]
pub struct Job {
    branch: Option<Branch>,
    pub order: Order,
}

type Sleeper = (Step, Arc<Footprint>);

/// A point where the next step is chosen.
struct Node {
    parent: Option<Branch>,
    depth: usize,
    enabled: Vec<Step>,
    asleep: Vec<Sleeper>,
    explored: Vec<Choice>,
}

/// A choice that was made or will be made.
struct Choice {
    actor: Actor,
    /// What was asleep when the branch was started.
    asleep: Vec<Sleeper>,
    /// The step, after a run has made it.
    made: Option<Sleeper>,
}

impl Tree {
    /// The next order to run. `None` if none is left; a run that is under way may add more.
    pub fn next(&mut self) -> Option<Job> {
        if !std::mem::replace(&mut self.has_started, true) {
            return Some(Job { branch: None, order: Order::default() });
        }
        let branch = self.pending.pop()?;
        let asleep: Vec<Sleeper> = self.sleepers(branch);
        let choice = self.nodes[branch.node].explored.iter_mut().find(|choice| choice.actor == branch.actor);
        choice.expect("a branch is a choice of its node").asleep.clone_from(&asleep);
        let mut choices = vec![branch.actor];
        let mut at = branch.node;
        while let Some(parent) = self.nodes[at].parent {
            choices.push(parent.actor);
            at = parent.node;
        }
        choices.reverse();
        let asleep = asleep.into_iter().map(|(step, footprint)| (step, (*footprint).clone())).collect();
        Some(Job { branch: Some(branch), order: Order { choices, asleep, ..Order::default() } })
    }

    /// What sleeps while a branch is explored: what slept at its node, and the other branches that were run.
    fn sleepers(&self, branch: Branch) -> Vec<Sleeper> {
        let node = &self.nodes[branch.node];
        let others = node.explored.iter().filter(|choice| choice.actor != branch.actor);
        node.asleep.iter().cloned().chain(others.filter_map(|choice| choice.made.clone())).collect()
    }

    /// Number of different orders that were run to their end.
    pub fn orders(&self) -> u64 {
        self.orders.len() as u64
    }

    /// Number of branches that are left.
    pub fn left(&self) -> usize {
        self.pending.len()
    }

    /// Adds the trace of a run. Returns `true` if it is a new order.
    pub fn add(&mut self, job: &Job, trace: &Trace) -> bool {
        let Some(path) = self.path(job, trace) else {
            self.diverged += 1;
            return false;
        };
        let from = path.len().saturating_sub(1);
        let path = self.extend(path, trace);
        let found = races::find(trace, from);
        for race in &found.races {
            if let Some(node) = path.get(race.before) {
                self.branch_off(*node, &race.initials);
            }
        }
        let is_new = trace.end != End::Redundant && self.orders.insert(found.fingerprint);
        self.redundant += u64::from(!is_new);
        is_new
    }

    /// The nodes that the order of a job leads through. `None` if the trace leads elsewhere.
    fn path(&self, job: &Job, trace: &Trace) -> Option<Vec<usize>> {
        let Some(branch) = job.branch else { return Some(Vec::new()) };
        let mut path = vec![branch.node];
        while let Some(parent) = self.nodes[path[path.len() - 1]].parent {
            path.push(parent.node);
        }
        path.reverse();
        let agrees = |(node, (taken, choice)): (&usize, (&Taken, &Actor))| {
            taken.step.actor == *choice && taken.enabled == self.nodes[*node].enabled
        };
        let is_followed = !trace.has_diverged
            && trace.steps.len() >= path.len()
            && path.iter().zip(trace.steps.iter().zip(&job.order.choices)).all(agrees);
        is_followed.then_some(path)
    }

    /// Adds nodes for the rest of a trace. Returns the nodes of all its steps.
    fn extend(&mut self, mut path: Vec<usize>, trace: &Trace) -> Vec<usize> {
        let start = path.len().saturating_sub(1);
        for (depth, taken) in trace.steps.iter().enumerate().skip(start) {
            if depth == path.len() {
                let parent = depth
                    .checked_sub(1)
                    .map(|above| Branch { node: path[above], actor: trace.steps[above].step.actor });
                path.push(self.nodes.len());
                self.insert(parent, depth, taken.enabled.clone());
            }
            let node = &mut self.nodes[path[depth]];
            let asleep = node.asleep.clone();
            let made = (taken.step, Arc::new(taken.footprint.clone()));
            match node.explored.iter_mut().find(|choice| choice.actor == taken.step.actor) {
                Some(choice) => choice.made = Some(made),
                None => {
                    node.explored.push(Choice { actor: taken.step.actor, asleep, made: Some(made) });
                }
            }
        }
        path
    }

    fn insert(&mut self, parent: Option<Branch>, depth: usize, enabled: Vec<Step>) {
        let mut asleep = Vec::new();
        if let Some(Branch { node, actor }) = parent {
            let choices = &self.nodes[node].explored;
            let choice = choices.iter().find(|choice| choice.actor == actor).expect("the step was added");
            if let Some((step, footprint)) = &choice.made {
                let stays = |(sleeper, other): &&Sleeper| {
                    sleeper.actor != step.actor && !other.conflicts(*sleeper, footprint, *step)
                };
                asleep = choice.asleep.iter().filter(stays).cloned().collect();
            }
        }
        self.nodes.push(Node { parent, depth, enabled, asleep, explored: Vec::new() });
    }

    /// Makes sure that one of the actors goes first at a node. If none of them can, every other one must be tried.
    fn branch_off(&mut self, index: usize, initials: &[Actor]) {
        let node = &self.nodes[index];
        let is_covered = |actor: &Actor| {
            node.explored.iter().any(|choice| choice.actor == *actor)
                || node.asleep.iter().any(|(step, _)| step.actor == *actor)
        };
        if initials.iter().any(is_covered) {
            return;
        }
        let is_enabled = |actor: &&Actor| node.enabled.iter().any(|step| step.actor == **actor);
        let wanted: Vec<Actor> = match initials.iter().find(is_enabled) {
            Some(actor) => vec![*actor],
            None => node.enabled.iter().map(|step| step.actor).filter(|actor| !is_covered(actor)).collect(),
        };
        for actor in wanted {
            let choice = Choice { actor, asleep: Vec::new(), made: None };
            self.nodes[index].explored.push(choice);
            let depth = self.nodes[index].depth;
            // The deepest branch comes first, so that few nodes have unfinished branches.
            let at = self.pending.partition_point(|branch| self.nodes[branch.node].depth <= depth);
            self.pending.insert(at, Branch { node: index, actor });
        }
    }
}

#[cfg(test)]
mod tests;
