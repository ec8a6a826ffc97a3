//! Simulation: runs random scenarios, each generated from a seed, until the time is up or one fails.
//!
//! `simulate SECONDS SEED` exits with 0 if machine and model agreed every time. A failing scenario is shrunk and
//! printed. A scenario that hangs is printed with its seed.

use softacl_testkit::ApiCall;
use softacl_testkit::scenario::Scenario;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Polls, one second apart, after which a scenario counts as hung. A scenario takes a fraction of a second, more on a
/// busy host. Polls are counted instead of time, because a stopped process does not poll.
const HANG_TIMEOUT_S: u32 = 90;
/// How often a candidate is run while shrinking, because a failure may depend on thread timing.
const ATTEMPTS: usize = 5;

static CURRENT: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(seconds)), Some(Ok(seed))) = (numbers.next(), numbers.next()) else {
        eprintln!("usage: simulate SECONDS SEED");
        return ExitCode::FAILURE;
    };
    std::thread::spawn(watch);
    let start = Instant::now();
    let (mut programs, mut operations, mut rules, mut faults, mut kinds) = (0, 0, 0, 0, BTreeMap::new());
    while start.elapsed().as_secs() < seconds {
        let seed = seed.wrapping_add(COUNT.load(Ordering::Relaxed));
        CURRENT.store(seed, Ordering::Relaxed);
        let scenario = Scenario::random(seed);
        let run = scenario.run();
        if let Err(failure) = run {
            println!("simulate: seed {seed} fails: {failure}");
            COUNT.fetch_add(1, Ordering::Relaxed);
            let fails = |candidate: &Scenario| {
                COUNT.fetch_add(1, Ordering::Relaxed);
                (0..ATTEMPTS).any(|_| candidate.run().is_err())
            };
            let small = scenario.shrink(fails);
            let reason = (0..ATTEMPTS).find_map(|_| small.run().err()).unwrap_or(failure);
            println!(
                "smallest scenario found: {small}it fails with: {reason}\nrepeat: cargo xtask simulate --seed {seed}"
            );
            return ExitCode::FAILURE;
        }
        programs += scenario.threads.len();
        operations += scenario.operations();
        rules += scenario.rules();
        faults += run.unwrap_or(0);
        for operation in scenario.threads.iter().flat_map(|(_, program)| &program.operations) {
            *kinds.entry(name(operation)).or_insert(0u64) += 1;
        }
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    println!(
        "simulate: {} scenarios, {programs} programs, {operations} operations of {} kinds, \
         {faults} faults from {rules} rules in {:.0} s agree with the model, first seed {seed}",
        COUNT.load(Ordering::Relaxed),
        kinds.len(),
        start.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

/// Exits the process if a scenario hangs.
fn watch() {
    let (mut last, mut polls) = (0, 0);
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let count = COUNT.load(Ordering::Relaxed);
        polls = if count == last { polls + 1 } else { 0 };
        last = count;
        if polls > HANG_TIMEOUT_S {
            let seed = CURRENT.load(Ordering::Relaxed);
            println!("simulate: seed {seed} hangs\n{}", Scenario::random(seed));
            std::process::exit(1);
        }
    }
}

/// Returns the name of an operation, without its fields.
fn name(operation: &ApiCall) -> String {
    let text = format!("{operation:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}
