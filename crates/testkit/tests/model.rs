//! Random programs agree with the sequential model on every executor and schedule.
//!
//! A failing seed is printed with the smallest program that still fails; add it to `seeds.txt`, whose seeds are always
//! run. `SOFTACL_TEST_PROGRAMS` sets the number of further seeds.

use softacl_engine::{Config, Machine, Schedule, Timing};
use softacl_profiles::profile;
use softacl_testkit::shrink::shrink;
use softacl_testkit::{Program, run};
use softacl_timing::{Bound, Costs};
use std::collections::HashMap;
use std::sync::Arc;

const LENGTH: usize = 120;

fn machine(schedule: Schedule, soc: &str) -> Arc<Machine> {
    let profile = profile(Some(soc), None).unwrap();
    let timing = (schedule == Schedule::Timed).then(|| Timing {
        costs: Costs::of(profile.chip, Bound::Expected),
        is_visible: true,
        host_scale: 0.0,
        kernels: HashMap::new(),
    });
    Machine::new(Config { profile, memory: 256 << 20, schedule, cores: 3, timing, ..Config::default() }).unwrap()
}

fn programs() -> u64 {
    std::env::var("SOFTACL_TEST_PROGRAMS").map_or(60, |text| text.parse().expect("SOFTACL_TEST_PROGRAMS is a number"))
}

/// Seeds in `seeds.txt`.
fn recorded_seeds() -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines();
    lines
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.parse().expect("a seed per line"))
        .collect()
}

/// Runs the program of a seed. Panics with the smallest program that fails.
fn check(seed: u64, schedule: Schedule, soc: &str) {
    let program = Program::random(seed, LENGTH);
    let attempt = |program: &Program| run(&machine(schedule, soc), (seed % 2) as u32, program);
    if let Err(failure) = attempt(&program) {
        let small = shrink(&program, |candidate| attempt(candidate).is_err());
        let reason = attempt(&small).err().unwrap_or_else(|| failure.clone());
        panic!(
            "seed {seed} on {soc} under {schedule}: {failure}\nsmallest program found: {:#?}\n\
             it fails with: {reason}\nadd {seed} to crates/testkit/tests/seeds.txt",
            small.operations
        );
    }
}

/// Runs the recorded seeds and further ones.
fn agree(schedule: impl Fn(u64) -> Schedule) {
    for seed in recorded_seeds().into_iter().chain(0..programs()) {
        check(seed, schedule(seed), "Ascend910B");
    }
}

#[test]
fn programs_agree_on_worker_threads() {
    agree(|_| Schedule::Threads);
}

#[test]
fn programs_agree_on_schedule_early() {
    agree(|_| Schedule::Early);
}

#[test]
fn programs_agree_on_schedule_late() {
    agree(|_| Schedule::Late);
}

#[test]
fn programs_agree_on_a_virtual_clock() {
    agree(|_| Schedule::Timed);
}

#[test]
fn programs_agree_on_random_schedules() {
    agree(Schedule::Random);
}

#[test]
fn programs_agree_on_chip_that_validates_batches_first() {
    for seed in 0..programs() / 3 {
        check(seed, Schedule::Threads, "Ascend950");
        check(seed, Schedule::Late, "Ascend950");
    }
}

/// Several threads with private contexts share one machine and its devices.
#[test]
fn threads_with_separate_contexts_do_not_affect_each_other() {
    for round in 0..programs() / 10 {
        for schedule in [Schedule::Threads, Schedule::Late, Schedule::Random(round)] {
            let machine = machine(schedule, "Ascend910B");
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    let machine = &machine;
                    scope.spawn(move || {
                        let seed = 1000 + 4 * round + thread;
                        let program = Program::random(seed, LENGTH);
                        if let Err(failure) = run(machine, (thread % 2) as u32, &program) {
                            panic!("seed {seed} as one of four threads under {schedule}: {failure}");
                        }
                    });
                }
            });
        }
    }
}

/// A single wrong byte is an error, and a run leaves no allocations.
#[test]
fn wrong_byte_is_detected() {
    use softacl_testkit::ApiCall::*;
    let machine = machine(Schedule::Threads, "Ascend910B");
    let mut program = Program {
        operations: vec![AllocateDevice { size: 100 }, FillAsync { target: 0, at: 0, len: 99, byte: 7, stream: 0 }],
    };
    run(&machine, 0, &program).unwrap();
    assert_eq!(machine.live_allocations(), []);
    program.operations.extend([Corrupt { target: 0 }, Verify]);
    let failure = run(&machine, 0, &program).unwrap_err();
    assert!(failure.contains("byte 99") && failure.contains("different bytes: 1"), "{failure}");
}
