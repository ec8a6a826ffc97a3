//! The whole engine under shuttle: random programs on engine threads, whose interleaving shuttle selects at every lock,
//! wait and atomic access.
//!
//! Every run is compared with the model, as in a simulation. shuttle has no clock, so deadlines never expire: a thread
//! that misses its wake-up blocks, and shuttle reports the deadlock that a timeout would hide in a real run.
//!
//! Only with `--cfg shuttle`: `cargo xtask test --filter schedules`.
#![cfg(shuttle)]

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};
use softacl_engine::Schedule;
use softacl_testkit::scenario::Scenario;

/// Number of scenarios, and of interleavings per scenario. `SCHEDULES_SEEDS` and `SCHEDULES_ORDERS` override them.
const SEEDS: u64 = 40;
const ORDERS: u64 = 25;
/// Seeds of scenarios that failed once, and the number of interleavings of each.
const KNOWN_SEEDS: &[(u64, usize)] = &[
    // A thread that destroyed a notify cleared its slot after another thread had already reused it.
    (1012, 200),
];
/// Maximum number of operations per thread: short programs interleave in more ways.
const MAX_OPERATIONS: usize = 60;
/// Number of priority changes per interleaving.
const DEPTH: usize = 3;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")),
        Err(_) => default,
    }
}

/// Returns the scenario of a seed, on worker threads and without faults. Odd seeds may have several contexts and
/// devices.
fn scenario(seed: u64) -> Scenario {
    let mut scenario = if seed.is_multiple_of(2) { Scenario::plain(seed) } else { Scenario::random(seed) };
    scenario.schedule = Schedule::Threads;
    for (setup, program) in &mut scenario.threads {
        setup.rules.clear();
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

/// Runs all scenarios that have at least this many program threads.
fn explore<S: Scheduler + 'static>(name: &str, threads: usize, scheduler: impl Fn(u64, usize) -> S) {
    let (first, seeds) = (number("SCHEDULES_FIRST", 0), number("SCHEDULES_SEEDS", SEEDS));
    let orders = number("SCHEDULES_ORDERS", ORDERS) as usize;
    let (mut runs, mut operations) = (0, 0);
    for seed in first..first + seeds {
        let scenario = scenario(seed);
        if scenario.threads.len() < threads {
            continue;
        }
        runs += orders;
        operations += scenario.operations() * orders;
        run(seed, scenario, scheduler(seed, orders));
    }
    println!("{name}: {runs} runs, {orders} of each scenario, {operations} operations");
}

#[test]
fn known_scenarios_agree_with_the_model() {
    for (seed, orders) in KNOWN_SEEDS {
        run(*seed, scenario(*seed), RandomScheduler::new_from_seed(*seed, *orders));
    }
}

#[test]
fn random_orders_agree_with_the_model() {
    explore("random orders", 1, RandomScheduler::new_from_seed);
}

#[test]
fn priority_orders_agree_with_the_model() {
    // The scheduler refuses programs with a single runnable thread.
    explore("priority orders", 2, |seed, orders| PctScheduler::new_from_seed(seed, DEPTH, orders));
}
