//! Simulation: scenario after scenario, each drawn from a seed, until the time is over or one fails.
//!
//! `simulate SECONDS SEED` ends with 0 when machine and model agreed every time. A failing seed is made small and
//! printed as a program; a scenario that does not end is told with its seed.

use softacl_testkit::ApiCall;
use softacl_testkit::scenario::Scenario;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A scenario takes a fraction of a second; on a machine that is busy, more. Counted in looks, each a second apart: a
/// process that was stopped has not looked.
const HANG_TIMEOUT_S: u32 = 90;
/// A failure that comes and goes with the threads is looked for so often.
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
        programs += scenario.parts.len();
        operations += scenario.operations();
        rules += scenario.rules();
        faults += run.unwrap_or(0);
        for operation in scenario.parts.iter().flat_map(|(_, program)| &program.operations) {
            *kinds.entry(name(operation)).or_insert(0u64) += 1;
        }
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    println!(
        "simulate: {} scenarios, {programs} programs, {operations} operations of {} kinds, {faults} faults by {rules} rules in {:.0} s agree with the model, seeds from {seed}",
        COUNT.load(Ordering::Relaxed),
        kinds.len(),
        start.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

/// Ends the process when a scenario does not.
fn watch() {
    let (mut seen, mut looks) = (0, 0);
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let count = COUNT.load(Ordering::Relaxed);
        looks = if count == seen { looks + 1 } else { 0 };
        seen = count;
        if looks > HANG_TIMEOUT_S {
            let seed = CURRENT.load(Ordering::Relaxed);
            println!("simulate: seed {seed} does not end\n{}", Scenario::random(seed));
            std::process::exit(1);
        }
    }
}

fn name(operation: &ApiCall) -> String {
    let told = format!("{operation:?}");
    told.split([' ', '{']).next().unwrap_or_default().to_owned()
}
