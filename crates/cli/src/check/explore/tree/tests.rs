//! The tree against brute force: every order of small programs is enumerated, and the tree must find each outcome and
//! each class of equivalent orders exactly once.

use super::*;
use crate::check::explore::trace::Place;
use softacl_engine::observer::Mode;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{Hash, Hasher};

/// What the host does in one step.
#[derive(Clone)]
enum Op {
    Queue(u32, Footprint),
    Wait(Step),
    Do(Footprint),
}

/// A program, and how far it is. Memory is one cell per byte.
#[derive(Clone)]
struct World {
    program: Vec<Op>,
    at: usize,
    queues: BTreeMap<u32, VecDeque<(Step, Footprint)>>,
    counts: BTreeMap<u32, u64>,
    memory: BTreeMap<usize, u64>,
    notifies: BTreeMap<u64, bool>,
    /// What the host has observed.
    seen: Vec<u64>,
    trace: Trace,
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl World {
    fn new(program: &[Op]) -> World {
        World {
            program: program.to_vec(),
            at: 0,
            queues: BTreeMap::new(),
            counts: BTreeMap::new(),
            memory: BTreeMap::new(),
            notifies: BTreeMap::new(),
            seen: Vec::new(),
            trace: Trace::default(),
        }
    }

    fn is_done(&self, step: Step) -> bool {
        self.trace.steps.iter().any(|taken| taken.step == step)
    }

    fn enabled(&self) -> Vec<Step> {
        let can_run = |task: &Footprint| {
            task.after.iter().all(|step| self.is_done(*step))
                && (!task.is_wait || task.notifies.iter().all(|notify| self.notifies.get(notify) == Some(&true)))
        };
        let fronts = self.queues.values().filter_map(|queue| queue.front());
        let mut enabled: Vec<Step> = fronts.filter(|(_, task)| can_run(task)).map(|(step, _)| *step).collect();
        let is_ready = match self.program.get(self.at) {
            None => false,
            Some(Op::Wait(step)) => self.is_done(*step),
            Some(_) => true,
        };
        if is_ready {
            enabled.push(Step { actor: Actor::Host, number: self.at as u64 + 1 });
        }
        enabled
    }

    fn make(&mut self, step: Step) -> Footprint {
        let enabled = self.enabled();
        let footprint = match step.actor {
            Actor::Stream(stream) => {
                let (_, task) = self.queues.get_mut(&stream).and_then(VecDeque::pop_front).expect("enabled");
                let clears = task.is_wait;
                task.notifies.iter().for_each(|notify| _ = self.notifies.insert(*notify, !clears));
                task
            }
            Actor::Host => {
                let op = self.program[self.at].clone();
                self.at += 1;
                match op {
                    Op::Queue(stream, task) => {
                        let number = self.counts.entry(stream).or_default();
                        *number += 1;
                        let task_step = Step { actor: Actor::Stream(stream), number: *number };
                        self.trace.queued.insert(task_step, (self.trace.steps.len(), task.clone()));
                        self.queues.entry(stream).or_default().push_back((task_step, task));
                        Footprint::default()
                    }
                    Op::Wait(step) => Footprint { after: vec![step], ..Footprint::default() },
                    Op::Do(footprint) => {
                        let answers: Vec<bool> = footprint.queried.iter().map(|step| self.is_done(*step)).collect();
                        self.seen.push(hash(&answers));
                        footprint
                    }
                }
            }
        };
        let cells = |mode| {
            let touches = footprint.touches.iter().filter(move |touch| touch.mode == mode);
            touches.flat_map(|touch| touch.address..touch.address + touch.len)
        };
        let read: Vec<u64> = cells(Mode::Read).map(|at| self.memory.get(&at).copied().unwrap_or(0)).collect();
        let value = hash(&(step, &read));
        cells(Mode::Write).collect::<Vec<_>>().into_iter().for_each(|at| _ = self.memory.insert(at, value));
        if step.actor == Actor::Host {
            self.seen.push(hash(&read));
        }
        self.trace.steps.push(Taken { step, enabled, footprint: footprint.clone(), place: Place::default() });
        footprint
    }

    fn outcome(&self) -> u64 {
        hash(&(&self.memory, &self.seen, self.trace.steps.len()))
    }
}

/// Outcomes and classes of all orders, by enumeration.
fn brute_force(world: &World, found: &mut (BTreeSet<u64>, BTreeSet<u64>)) {
    let enabled = world.enabled();
    if enabled.is_empty() {
        found.0.insert(world.outcome());
        found.1.insert(races::find(&world.trace, 0).fingerprint);
    }
    for step in enabled {
        let mut next = world.clone();
        next.make(step);
        brute_force(&next, found);
    }
}

/// Runs one order as the engine does.
fn run(program: &[Op], order: &Order) -> World {
    let mut world = World::new(program);
    let mut asleep = order.asleep.clone();
    loop {
        let enabled = world.enabled();
        if enabled.is_empty() {
            world.trace.end = End::Complete;
            return world;
        }
        let made = world.trace.steps.len();
        let chosen = match order.choices.get(made) {
            Some(actor) => enabled.iter().find(|step| step.actor == *actor).copied().expect("the choice can be made"),
            None => match enabled.iter().find(|step| !asleep.iter().any(|(sleeper, _)| sleeper == *step)) {
                Some(step) => *step,
                None => {
                    world.trace.end = End::Redundant;
                    return world;
                }
            },
        };
        let footprint = world.make(chosen);
        if made + 1 >= order.choices.len() {
            asleep.retain(|(sleeper, other)| {
                sleeper.actor != chosen.actor && !other.conflicts(*sleeper, &footprint, chosen)
            });
        }
    }
}

/// Explores a program. Returns the outcomes, the number of orders, and the number of redundant runs.
fn explore(program: &[Op]) -> (BTreeSet<u64>, u64, u64) {
    let mut tree = Tree::default();
    let mut outcomes = BTreeSet::new();
    while let Some(job) = tree.next() {
        let world = run(program, &job.order);
        if world.trace.end == End::Complete {
            outcomes.insert(world.outcome());
        }
        tree.add(&job, &world.trace);
    }
    assert_eq!(tree.diverged, 0);
    (outcomes, tree.orders(), tree.redundant)
}

/// Parses a program: `1 w:0+1` queues a task, `wait 1.1` waits for one, `host r:0+1` is a step of the host.
fn program(text: &str) -> Vec<Op> {
    let parse = |line: &str| {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match word {
            "wait" => Op::Wait(rest.parse().expect("a step")),
            "host" => Op::Do(rest.parse().expect("a footprint")),
            stream => Op::Queue(stream.parse().expect("a stream"), rest.parse().expect("a footprint")),
        }
    };
    text.split(';').map(parse).collect()
}

fn agree(text: &str) -> u64 {
    let program = program(text);
    let mut all = (BTreeSet::new(), BTreeSet::new());
    brute_force(&World::new(&program), &mut all);
    let (outcomes, orders, _) = explore(&program);
    assert_eq!(outcomes, all.0, "outcomes of {text}");
    assert_eq!(orders, all.1.len() as u64, "orders of {text}");
    orders
}

#[test]
fn only_conflicts_make_orders() {
    assert_eq!(agree("1 w:0+4; 2 w:4+4; wait 1.1; wait 2.1"), 1);
    assert_eq!(agree("1 w:0+4; 2 w:3+4; wait 1.1; wait 2.1"), 2);
    assert_eq!(agree("1 w:0+4; 2 a:1.1; 2 w:3+4; wait 2.2"), 1, "ordered by an event");
    assert_eq!(agree("1 r:0+4; 2 r:0+4; 3 r:0+4"), 1);
    assert_eq!(agree("1 w:0+1; 2 w:0+1; 3 w:0+1"), 6);
    assert_eq!(agree("1 w:0+1; 2 w:1+1; 3 w:0+2"), 4);
}

#[test]
fn host_accesses_and_queries_make_orders() {
    assert_eq!(agree("1 w:0+1; host r:0+1; wait 1.1"), 2);
    assert_eq!(agree("1 w:0+1; wait 1.1; host r:0+1"), 1);
    assert_eq!(agree("1 w:0+1; host q:1.1; host q:1.1; wait 1.1"), 3);
    assert_eq!(agree("1 w:0+1; 1 w:5+1; host q:1.2; wait 1.2"), 2);
    assert_eq!(agree("1 function; host code; host code; wait 1.1"), 3);
}

#[test]
fn notifies_that_streams_compete_for_are_explored() {
    assert!(agree("1 n:7 waits; 1 w:0+1; 2 n:7 waits; 2 w:0+1; 3 n:7; 3 n:7") >= 2);
    assert_eq!(agree("1 n:7 waits; 1 w:0+1; 2 n:7; 2 w:4+1; wait 1.2"), 1);
}

/// Draws many small programs. Everything that the tree omits or repeats shows up as a difference to brute force.
#[test]
fn random_programs_agree_with_brute_force() {
    for seed in 0..400u64 {
        let mut state = seed;
        let mut draw = |below: u64| {
            state = hash(&(state, 17));
            state % below
        };
        let mut counts: HashMap<u64, u64> = HashMap::new();
        let mut lines: Vec<String> = Vec::new();
        for _ in 0..3 + draw(4) {
            let (stream, cell, mode) = (1 + draw(3), draw(3), if draw(3) == 0 { 'r' } else { 'w' });
            let known: Vec<(u64, u64)> = counts.iter().map(|(stream, count)| (*stream, *count)).collect();
            let known = known.iter().min().copied();
            match (draw(8), known) {
                (0, Some((other, count))) => lines.push(format!("wait {other}.{count}")),
                (1, Some((other, count))) => lines.push(format!("host q:{other}.{}", 1 + draw(count))),
                (2, _) => lines.push(format!("host {mode}:{cell}+1")),
                (3, Some((other, count))) if other != stream => {
                    *counts.entry(stream).or_default() += 1;
                    lines.push(format!("{stream} a:{other}.{count} {mode}:{cell}+1"));
                }
                (4, _) => {
                    *counts.entry(stream).or_default() += 1;
                    lines.push(format!("{stream} n:9{}", if draw(2) == 0 { " waits" } else { "" }));
                }
                _ => {
                    *counts.entry(stream).or_default() += 1;
                    lines.push(format!("{stream} {mode}:{cell}+1"));
                }
            }
        }
        agree(&lines.join(";"));
    }
}
