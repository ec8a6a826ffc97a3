//! The whole engine under shuttle: random programs on real threads of the engine, of which shuttle draws who goes on at
//! every lock, wait and atomic access.
//!
//! Every run is compared with the model, as in a simulation. shuttle knows no time: no deadline comes, so that a
//! thread that was not woken stays asleep and shuttle says so, where a real run might be saved by a timeout.
//!
//! Only with `--cfg shuttle`: `cargo xtask test --filter schedules`.
#![cfg(shuttle)]

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};
use softacl_engine::Schedule;
use softacl_testkit::scenario::Scenario;

/// Scenarios, and orders that are tried of each; `SCHEDULES_SEEDS` and `SCHEDULES_ORDERS` say otherwise.
const SEEDS: u64 = 40;
const ORDERS: u64 = 25;
/// Scenarios that once failed, and orders that are tried of each.
const KNOWN_SEEDS: &[(u64, usize)] = &[
    // A notify was destroyed, another thread got its place, and what the first one cleared was that one's.
    (1012, 200),
];
/// Operations of a thread: short programs meet each other in more ways.
const MAX_OPERATIONS: usize = 60;
/// Changes of priority in an order with priorities.
const DEPTH: usize = 3;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")),
        Err(_) => default,
    }
}

/// A scenario of a seed, on threads and without faults. Those of odd seeds may have several contexts and devices.
fn scenario(seed: u64) -> Scenario {
    let mut scenario = if seed.is_multiple_of(2) { Scenario::plain(seed) } else { Scenario::random(seed) };
    scenario.schedule = Schedule::Threads;
    for (stage, program) in &mut scenario.parts {
        stage.rules.clear();
        program.operations.truncate(MAX_OPERATIONS);
    }
    scenario
}

fn run<S: Scheduler + 'static>(seed: u64, scenario: Scenario, scheduler: S) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(scheduler, config).run(move || {
        scenario.run().unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{scenario}"));
    });
}

/// Runs all scenarios that have so many threads of the program.
fn explore<S: Scheduler + 'static>(name: &str, threads: usize, scheduler: impl Fn(u64, usize) -> S) {
    let (first, seeds) = (number("SCHEDULES_FIRST", 0), number("SCHEDULES_SEEDS", SEEDS));
    let orders = number("SCHEDULES_ORDERS", ORDERS) as usize;
    let (mut runs, mut operations) = (0, 0);
    for seed in first..first + seeds {
        let scenario = scenario(seed);
        if scenario.parts.len() < threads {
            continue;
        }
        runs += orders;
        operations += scenario.operations() * orders;
        run(seed, scenario, scheduler(seed, orders));
    }
    println!("{name}: {runs} runs, {orders} of each scenario, {operations} operations");
}

#[test]
fn kept_scenarios_agree_with_the_model() {
    for (seed, orders) in KNOWN_SEEDS {
        run(*seed, scenario(*seed), RandomScheduler::new_from_seed(*seed, *orders));
    }
}

#[test]
fn random_orders_agree_with_the_model() {
    explore("random orders", 1, RandomScheduler::new_from_seed);
}

#[test]
fn orders_with_priorities_agree_with_the_model() {
    // It refuses a program of one thread that leaves nothing to the engine's threads.
    explore("orders with priorities", 2, |seed, orders| PctScheduler::new_from_seed(seed, DEPTH, orders));
}
