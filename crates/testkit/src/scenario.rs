//! Scenarios: a whole machine generated from a seed, with one program per thread.
//!
//! The chip, the schedule, and the numbers of devices, contexts, cores and threads are random, too. In half of the
//! scenarios every thread has two private devices, and most of those have fault rules.

use crate::faults::FaultRule;
use crate::{Program, Setup, run_on};
use fastrand::Rng;
#[cfg(shuttle)]
use shuttle::thread;
use softacl_engine::{Config, Machine, Schedule};
use softacl_faults::{Injection, Vocabulary, parse};
use softacl_profiles::profile;
use std::fmt;
use std::sync::Arc;
#[cfg(not(shuttle))]
use std::thread;
use std::time::Duration;

const CHIPS: &[&str] = &["Ascend910B", "Ascend910C", "Ascend950", "Ascend310P", "Ascend310B", "Ascend910A"];

/// A machine and the programs of its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    pub chip: &'static str,
    pub schedule: Schedule,
    pub devices: u32,
    pub cores: usize,
    /// Setup and program of each thread.
    pub threads: Vec<(Setup, Program)>,
}

impl Scenario {
    /// Generates a scenario, with private devices and fault rules in some of them.
    pub fn random(seed: u64) -> Scenario {
        let mut scenario = Scenario::plain(seed);
        // A separate generator, so that recorded seeds keep their plain scenarios.
        let mut rng = Rng::with_seed(seed ^ 0x57a6_e000_57a6_e000);
        if rng.bool() {
            return scenario;
        }
        scenario.devices = 2 * scenario.threads.len() as u32;
        let has_rules = rng.u32(0..4) != 0;
        for (thread, (setup, program)) in scenario.threads.iter_mut().enumerate() {
            let rules = if has_rules { rng.usize(0..5) } else { 0 };
            *program = Program::with_faults(rng.u64(..), rng.usize(20..250), rng.usize(1..8));
            *setup = Setup {
                device: 2 * thread as u32,
                peer: Some(2 * thread as u32 + 1),
                contexts: rng.usize(1..4),
                rules: (0..rules).map(|_| FaultRule::random(&mut rng)).collect(),
            };
        }
        scenario
    }

    /// Generates a scenario without faults. Each thread has one context; threads are distributed over the devices in
    /// turn.
    pub fn plain(seed: u64) -> Scenario {
        let mut rng = Rng::with_seed(seed);
        let schedule = match rng.u32(0..6) {
            0 => Schedule::Early,
            1 => Schedule::Late,
            2 => Schedule::Random(rng.u64(..)),
            _ => Schedule::Threads,
        };
        let threads = [1, 1, 2, 3, 5][rng.usize(..5)];
        let programs = (0..threads).map(|_| Program::with_streams(rng.u64(..), rng.usize(20..250), rng.usize(1..8)));
        let programs: Vec<Program> = programs.collect();
        let chip = CHIPS[rng.usize(..CHIPS.len())];
        let devices = rng.u32(1..4);
        let setup = |thread| Setup { device: thread as u32 % devices, peer: None, contexts: 1, rules: Vec::new() };
        let assignments = programs.into_iter().enumerate().map(|(thread, program)| (setup(thread), program)).collect();
        Scenario { chip, schedule, devices, cores: rng.usize(1..5), threads: assignments }
    }

    pub fn operations(&self) -> usize {
        self.threads.iter().map(|(_, program)| program.operations.len()).sum()
    }

    pub fn rules(&self) -> usize {
        self.threads.iter().map(|(setup, _)| setup.rules.len()).sum()
    }

    /// Returns the rules of all threads, parsed by the engine. `None` without rules.
    fn injection(&self) -> Result<Option<Arc<Injection>>, String> {
        let text = |(setup, _): &(Setup, Program)| -> Vec<String> {
            setup.rules.iter().map(|rule| rule.text(setup.device, setup.peer)).collect()
        };
        let lines: Vec<String> = self.threads.iter().flat_map(text).collect();
        if lines.is_empty() {
            return Ok(None);
        }
        let words = Vocabulary { function: |_| Ok(()), near: |_| None, code: |_| None };
        let rules = parse(&lines.join("\n"), words).map_err(|error| error.to_string())?;
        Ok(Some(Arc::new(Injection::new(rules, self.devices as usize))))
    }

    fn machine(&self) -> Result<Arc<Machine>, String> {
        let config = Config {
            profile: profile(Some(self.chip), None).map_err(|error| error.to_string())?,
            devices: (0..self.devices).collect(),
            memory: 1 << 30,
            schedule: self.schedule,
            progress_timeout: Duration::from_millis(20),
            cores: self.cores,
            injection: self.injection()?,
            ..Config::default()
        };
        Machine::new(config).map_err(|error| error.to_string())
    }

    /// Runs all programs concurrently on one machine and requires that no allocation remains. Returns the number of
    /// injected faults.
    pub fn run(&self) -> Result<u64, String> {
        let machine = self.machine()?;
        let failures: Vec<String> = thread::scope(|scope| {
            let started: Vec<_> = self
                .threads
                .iter()
                .map(|(setup, program)| {
                    let machine = &machine;
                    scope.spawn(move || run_on(machine, setup, program))
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
        let fired = machine.injection().map_or(0, |injection| injection.rules().iter().map(|rule| rule.fired()).sum());
        if left.is_empty() { Ok(fired) } else { Err(format!("{} allocations remain", left.len())) }
    }

    /// Returns the smallest scenario found that still fails. Removes threads first, then rules, then operations.
    pub fn shrink(&self, fails: impl Fn(&Scenario) -> bool) -> Scenario {
        let mut best = self.clone();
        let mut thread = 0;
        while thread < best.threads.len() {
            let mut candidate = best.clone();
            candidate.threads.remove(thread);
            if !candidate.threads.is_empty() && fails(&candidate) { best = candidate } else { thread += 1 }
        }
        for thread in 0..best.threads.len() {
            let mut rule = 0;
            while rule < best.threads[thread].0.rules.len() {
                let mut candidate = best.clone();
                candidate.threads[thread].0.rules.remove(rule);
                if fails(&candidate) { best = candidate } else { rule += 1 }
            }
            let program = crate::shrink::shrink(&best.threads[thread].1, |program| {
                let mut candidate = best.clone();
                candidate.threads[thread].1 = program.clone();
                fails(&candidate)
            });
            best.threads[thread].1 = program;
        }
        best
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} x {}, schedule {}, {} cores", self.devices, self.chip, self.schedule, self.cores)?;
        for (thread, (setup, program)) in self.threads.iter().enumerate() {
            let Setup { device, peer, contexts, rules } = setup;
            let rules: Vec<String> = rules.iter().map(|rule| rule.text(*device, *peer)).collect();
            let peer = peer.map_or(String::new(), |peer| format!(" and {peer}"));
            writeln!(f, "thread {thread} on device {device}{peer}, {contexts} contexts, rules: {}", rules.join("; "))?;
            writeln!(f, "{:#?}", program.operations)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiCall;

    /// The model predicts every fault, so a missing or unexpected one of any kind is an error.
    #[test]
    fn missing_and_unexpected_faults_are_detected() {
        use crate::faults::{Effect, InjectionPoint, TaskKind};
        let program = Program {
            operations: vec![
                ApiCall::AllocateDevice { size: 100 },
                ApiCall::AllocatePinned { size: 100 },
                ApiCall::CreateStream,
                ApiCall::CopyAsync { target: 0, source: 1, at: 0, len: 64, stream: 0 },
                ApiCall::CopyAsync { target: 0, source: 1, at: 0, len: 64, stream: 0 },
                ApiCall::Verify,
            ],
        };
        let faults = [
            (InjectionPoint::Task(Some(TaskKind::Copy)), Effect::Code(507_013)),
            (InjectionPoint::Task(None), Effect::Stuck),
            (InjectionPoint::Task(None), Effect::Ecc),
            (InjectionPoint::Task(None), Effect::Lost),
            (InjectionPoint::Allocation, Effect::Code(207_001)),
            (InjectionPoint::Call("aclrtMemcpyAsync"), Effect::Code(107_000)),
        ];
        for (point, effect) in faults {
            let rule = FaultRule { point, at_least: 0, first: 1, last: 1, effect };
            let setup = |rules| Setup { device: 0, peer: Some(1), contexts: 2, rules };
            let scenario = |rules| Scenario {
                chip: CHIPS[0],
                schedule: Schedule::Late,
                devices: 2,
                cores: 2,
                threads: vec![(setup(rules), program.clone())],
            };
            assert_eq!(scenario(vec![rule]).run(), Ok(1), "{rule}");
            let without = scenario(Vec::new()).machine().unwrap();
            assert!(run_on(&without, &setup(vec![rule]), &program).is_err(), "{rule} did not fire, undetected");
            if matches!(point, InjectionPoint::Task(_)) && effect != Effect::Stuck {
                let with = scenario(vec![rule]).machine().unwrap();
                assert!(run_on(&with, &setup(Vec::new()), &program).is_err(), "{rule} fired unexpectedly, undetected");
            }
        }
    }

    #[test]
    fn wrong_byte_in_one_thread_is_detected_and_shrunk() {
        let mut scenario = Scenario::plain(3);
        scenario
            .threads
            .push((Setup { device: 0, peer: None, contexts: 1, rules: Vec::new() }, Program::random(7, 30)));
        let (_, last) = scenario.threads.last_mut().unwrap();
        last.operations.extend([ApiCall::Corrupt { target: 0 }, ApiCall::Verify]);
        assert!(scenario.run().unwrap_err().contains("the model has"));
        let small = scenario.shrink(|candidate| candidate.run().is_err());
        assert!(small.operations() <= 3, "{small}");
        assert!(small.to_string().contains("Corrupt"), "{small}");
    }
}
