//! Scenarios that failed once. Each runs several times, because the failure depended on thread timing.

use softacl_testkit::scenario::Scenario;

/// Seeds of plain scenarios, with the defect that each found, and how often each runs.
const KNOWN_SEEDS: &[(u64, usize)] = &[
    // Lock-order inversion: a graph was launched under its lock, and the schedule ran a pool release inline, which
    // takes the heap lock. Another thread that freed memory took the heap lock before the graph lock.
    (12_000_112, 20),
];

/// Seeds of scenarios with two devices per thread and fault rules, and how often each runs.
const KNOWN_FAULT_SEEDS: &[(u64, usize)] = &[
    // Rules for links and bad memory did not match memory that is mapped at a reserved address.
    (1022, 2),
];

#[test]
fn known_scenarios_with_faults_agree() {
    for (seed, times) in KNOWN_FAULT_SEEDS {
        let scenario = Scenario::random(*seed);
        for _ in 0..*times {
            let faults = scenario.run().unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{scenario}"));
            assert!(faults > 0, "seed {seed}: no fault was injected");
        }
    }
}

#[test]
fn known_scenarios_agree() {
    for (seed, times) in KNOWN_SEEDS {
        let scenario = Scenario::plain(*seed);
        for _ in 0..*times {
            scenario.run().unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{scenario}"));
        }
    }
}
