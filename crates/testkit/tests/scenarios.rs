//! Scenarios that once failed, several times each: what went wrong depended on how threads met.

use softacl_testkit::scenario::Scenario;

/// What a seed found, and how often it is run.
const KEPT: &[(u64, usize)] = &[
    // A graph was launched under its lock, the schedule ran a release of a pool on the spot, which takes the lock of
    // the heap, while another thread freed memory: heap, then graph.
    (12_000_112, 20),
];

#[test]
fn kept_scenarios_agree() {
    for (seed, times) in KEPT {
        let scenario = Scenario::random(*seed);
        for _ in 0..*times {
            scenario.run().unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{scenario}"));
        }
    }
}
