//! Outcomes of `softacl check`: the empty outcome of a command, and whether an outcome counts as a failure.

use super::arguments::{Arguments, FailOn, repro_command};
use softacl_checker::finding::Severity;
use softacl_checker::report::Outcome;

/// Creates an outcome that describes the command and has no findings.
pub fn new_outcome(arguments: &Arguments, schedule: &str) -> Outcome {
    Outcome {
        program: arguments.machine.line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schedule: schedule.to_owned(),
        seed: seed(schedule),
        repeat: repro_command(arguments, &["--schedule", schedule]),
        ..Outcome::default()
    }
}

fn seed(schedule: &str) -> Option<u64> {
    schedule.strip_prefix("random:")?.parse().ok()
}

/// True if the outcome has findings of the severity that makes the command fail.
pub fn fails(outcome: &Outcome, fail_on: FailOn) -> bool {
    match fail_on {
        FailOn::Proven => outcome.count(Severity::Proven) > 0,
        FailOn::Advice => !outcome.cases.is_empty(),
        FailOn::Never => false,
    }
}
