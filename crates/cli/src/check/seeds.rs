//! `--seeds`: repeats the run with random schedules until one fails.

use super::arguments::{Arguments, repro_command};
use super::collect::{self, PREFIX};
use super::outcome::{fails, new_outcome};
use crate::{output, signals};
use anyhow::{Context, Result};
use softacl_checker::report::Outcome;
use softacl_checker::report::suppression::Suppressions;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

pub fn run(arguments: &Arguments, count: u64, suppressions: &Suppressions, stdout: Option<&File>) -> Result<Outcome> {
    let outputs = output::directory(PREFIX)?;
    let (out, err) = (outputs.path().join("stdout"), outputs.path().join("stderr"));
    let mut total = new_outcome(arguments, "");
    let mut failed = None;
    for seed in 1..=count {
        progress(&format!("softacl check: seed {seed} of {count}"));
        let schedule = format!("random:{seed}");
        let (notes, faults) = (total.notes.len(), total.faults.len());
        let unjudged = total.unjudged.clone();
        collect::run(arguments, &schedule, suppressions, &mut total, |command| {
            command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
            Ok(())
        })?;
        let has_findings = fails(&total, arguments.fail_on);
        if has_findings || total.unchecked.is_some() || total.exit_code != Some(0) || signals::stopped().is_some() {
            failed = Some((seed, has_findings));
            break;
        }
        // The notes are the same for every run; keep those of the last one.
        if seed < count {
            total.notes.truncate(notes);
            total.faults.truncate(faults);
            total.unjudged = unjudged;
        }
    }
    progress("");
    match stdout {
        Some(mut file) => show(&out, &mut file),
        None => show(&out, &mut io::stdout()),
    }
    .context("could not print the output of the program")?;
    show(&err, &mut io::stderr()).context("could not print the output of the program")?;
    match failed {
        Some((seed, has_findings)) => {
            let schedule = format!("random:{seed}");
            total.repeat = repro_command(arguments, &["--schedule", &schedule]);
            let again = format!("To repeat this run:\n  {}\n", total.repeat);
            let reason = match (has_findings, signals::stopped(), total.exit_code.unwrap_or(0)) {
                (true, ..) => format!("it has findings. {again}"),
                (false, Some(signal), _) => {
                    // The series is incomplete, whatever exit code the program chose.
                    total.exit_code = Some(128 + signal);
                    format!("received signal {signal}{}", collect::name(signal))
                }
                (false, None, 0) => "nothing was checked".to_owned(),
                (false, None, code) => format!("the program ended with exit code {code}. {again}"),
            };
            output::eprint_line(format_args!("softacl check: stopped at seed {seed} of {count}: {reason}"));
            total.schedule = schedule;
            total.seed = Some(seed);
        }
        None => {
            total.repeat = repro_command(arguments, &["--seeds", &count.to_string()]);
            total.schedule = format!("random, seeds 1 to {count}");
            total.seed = None;
        }
    }
    Ok(total)
}

/// Prints a status line that replaces the previous one, if stderr is a terminal.
fn progress(text: &str) {
    if output::shows_progress() {
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}

/// Copies a file to a stream.
fn show(path: &Path, to: &mut impl Write) -> Result<()> {
    let mut file = File::open(path)?;
    io::copy(&mut file, to)?;
    to.flush()?;
    Ok(())
}
