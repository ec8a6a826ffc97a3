//! Scenarios that once failed, several times each: what went wrong depended on how threads met.

use softacl_testkit::scenario::Scenario;

/// What a seed found, and how often it is run.
const KNOWN_SEEDS: &[(u64, usize)] = &[
    // A graph was launched under its lock, the schedule ran a release of a pool on the spot, which takes the lock of
    // the heap, while another thread freed memory: heap, then graph.
    (12_000_112, 20),
];

/// The same, of scenarios with two devices for each thread and faults.
const KEPT_WITH_FAULTS: &[(u64, usize)] = &[
    // Rules about links and bad memory did not see memory that is mapped at a reserved address.
    (1022, 2),
];

#[test]
fn kept_scenarios_with_faults_agree() {
    for (seed, times) in KEPT_WITH_FAULTS {
        let scenario = Scenario::random(*seed);
        for _ in 0..*times {
            let run = scenario.run().unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{scenario}"));
            assert!(run > 0, "seed {seed} has no fault any more");
        }
    }
}

#[test]
fn kept_scenarios_agree() {
    for (seed, times) in KNOWN_SEEDS {
        let scenario = Scenario::plain(*seed);
        for _ in 0..*times {
            scenario.run().unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{scenario}"));
        }
    }
}
