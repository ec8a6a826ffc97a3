//! Scenarios: a whole machine drawn from a seed, with a program for each of its threads.
//!
//! The chip, the schedule, the number of devices, cores and threads are drawn too. Rules for faults would be drawn
//! here and go into the configuration of the machine; the world would then have to know which failures to expect.

use crate::{Program, run};
use fastrand::Rng;
use softacl_engine::{Config, Machine, Schedule};
use softacl_profiles::profile;
use std::fmt;
use std::time::Duration;

const CHIPS: &[&str] = &["Ascend910B", "Ascend910C", "Ascend950", "Ascend310P", "Ascend310B", "Ascend910A"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    pub chip: &'static str,
    pub schedule: Schedule,
    pub devices: u32,
    pub cores: usize,
    /// A program for each thread; thread n is on device n, as far as there are so many.
    pub programs: Vec<Program>,
}

impl Scenario {
    pub fn random(seed: u64) -> Scenario {
        let mut rng = Rng::with_seed(seed);
        let schedule = match rng.u32(0..6) {
            0 => Schedule::Early,
            1 => Schedule::Late,
            2 => Schedule::Random(rng.u64(..)),
            _ => Schedule::Threads,
        };
        let threads = [1, 1, 2, 3, 5][rng.usize(..5)];
        let programs = (0..threads).map(|_| Program::with_streams(rng.u64(..), rng.usize(20..250), rng.usize(1..8)));
        let programs = programs.collect();
        Scenario {
            chip: CHIPS[rng.usize(..CHIPS.len())],
            schedule,
            programs,
            devices: rng.u32(1..4),
            cores: rng.usize(1..5),
        }
    }

    pub fn operations(&self) -> usize {
        self.programs.iter().map(|program| program.operations.len()).sum()
    }

    /// Runs every program at the same time on one machine, and requires that nothing is left.
    pub fn run(&self) -> Result<(), String> {
        let config = Config {
            profile: profile(Some(self.chip), None).map_err(|error| error.to_string())?,
            devices: (0..self.devices).collect(),
            memory: 1 << 30,
            schedule: self.schedule,
            patience: Duration::from_millis(20),
            cores: self.cores,
            ..Config::default()
        };
        let machine = Machine::new(config).map_err(|error| error.to_string())?;
        let failures: Vec<String> = std::thread::scope(|scope| {
            let started: Vec<_> = self
                .programs
                .iter()
                .enumerate()
                .map(|(thread, program)| {
                    let (machine, device) = (&machine, thread as u32 % self.devices);
                    scope.spawn(move || run(machine, device, program))
                })
                .collect();
            let ends = started.into_iter().enumerate().map(|(thread, started)| match started.join() {
                Ok(Ok(())) => None,
                Ok(Err(failure)) => Some(format!("thread {thread}: {failure}")),
                Err(_) => Some(format!("thread {thread} panicked")),
            });
            ends.flatten().collect()
        });
        if let Some(failure) = failures.into_iter().next() {
            return Err(failure);
        }
        let left = machine.live_allocations();
        if left.is_empty() { Ok(()) } else { Err(format!("{} allocations are left", left.len())) }
    }

    /// The smallest scenario found that still fails: threads are left out, then operations.
    pub fn shrink(&self, fails: impl Fn(&Scenario) -> bool) -> Scenario {
        let mut best = self.clone();
        let mut thread = 0;
        while thread < best.programs.len() {
            let mut candidate = best.clone();
            candidate.programs.remove(thread);
            if !candidate.programs.is_empty() && fails(&candidate) { best = candidate } else { thread += 1 }
        }
        for thread in 0..best.programs.len() {
            let program = crate::shrink::shrink(&best.programs[thread], |program| {
                let mut candidate = best.clone();
                candidate.programs[thread] = program.clone();
                fails(&candidate)
            });
            best.programs[thread] = program;
        }
        best
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} x {}, schedule {}, {} cores", self.devices, self.chip, self.schedule, self.cores)?;
        for (thread, program) in self.programs.iter().enumerate() {
            writeln!(f, "thread {thread}: {:#?}", program.operations)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    #[test]
    fn a_wrong_byte_in_one_thread_is_found_and_made_small() {
        let mut scenario = Scenario::random(3);
        scenario.programs.push(Program::random(7, 30));
        let last = scenario.programs.last_mut().unwrap();
        last.operations.extend([Operation::Corrupt { target: 0 }, Operation::Verify]);
        assert!(scenario.run().unwrap_err().contains("the model says"));
        let small = scenario.shrink(|candidate| candidate.run().is_err());
        assert!(small.operations() <= 3, "{small}");
        assert!(small.to_string().contains("Corrupt"), "{small}");
    }
}
