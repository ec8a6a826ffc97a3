//! Outcomes of `softacl check`: the empty outcome of a command, whether an outcome counts as a failure, and the exit code.

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

/// The exit code of a run in which nothing was checked.
const EXIT_UNCHECKED: u8 = 3;
/// The exit code if the program itself exited with a code that has another meaning here.
const EXIT_RESERVED: u8 = 4;

/// Returns the exit code of the command. A code of the program never looks like a finding.
pub fn exit_code(outcome: &Outcome, arguments: &Arguments) -> u8 {
    if fails(outcome, arguments.fail_on) {
        return arguments.error_exitcode;
    }
    if outcome.unchecked.is_some() {
        return EXIT_UNCHECKED;
    }
    let program = outcome.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    let means_findings = program == arguments.error_exitcode;
    let means_unchecked = !arguments.allow_unchecked && program == EXIT_UNCHECKED;
    // `--fail-on never` asks for the program's code.
    let is_reserved = arguments.fail_on != FailOn::Never && (means_findings || means_unchecked);
    if is_reserved { EXIT_RESERVED } else { program }
}

/// True if the outcome has findings of the severity that makes the command fail.
pub fn fails(outcome: &Outcome, fail_on: FailOn) -> bool {
    let has_failed = || outcome.exploration.iter().flat_map(|found| &found.findings).any(|finding| finding.is_failure);
    match fail_on {
        FailOn::Proven => outcome.count(Severity::Proven) > 0 || has_failed(),
        FailOn::Advice => !outcome.cases.is_empty() || has_failed(),
        FailOn::Never => false,
    }
}
