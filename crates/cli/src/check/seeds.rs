//! Many runs on random schedules, until one finds something.

use super::{Arguments, PREFIX, collect, fails, fresh, repeat, show};
use crate::{output, signals};
use anyhow::{Context, Result};
use softacl_checker::report::Outcome;
use softacl_checker::report::suppression::Suppressions;
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::process::Stdio;

pub fn run(arguments: &Arguments, count: u64, suppressions: &Suppressions) -> Result<Outcome> {
    let outputs = output::directory(PREFIX)?;
    let (out, err) = (outputs.path().join("stdout"), outputs.path().join("stderr"));
    let mut total = fresh(arguments, "");
    let mut stop = None;
    for seed in 1..=count {
        progress(&format!("softacl check: seed {seed} of {count}"));
        let schedule = format!("random:{seed}");
        let (notes, faults) = (total.notes.len(), total.faults.len());
        collect::run(arguments, &schedule, suppressions, &mut total, |command| {
            command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
            Ok(())
        })?;
        let found = fails(&total, arguments.fail_on);
        if found || total.exit_code != Some(0) || signals::stopped().is_some() {
            stop = Some((seed, found));
            break;
        }
        // Every run would say the same; the last one does.
        if seed < count {
            total.notes.truncate(notes);
            total.faults.truncate(faults);
        }
    }
    progress("");
    show(&out, &mut io::stdout()).context("could not show the output of the program")?;
    show(&err, &mut io::stderr()).context("could not show the output of the program")?;
    match stop {
        Some((seed, found)) => {
            let schedule = format!("random:{seed}");
            total.repeat = repeat(arguments, &["--schedule", &schedule]);
            let again = format!("The same run again:\n  {}\n", total.repeat);
            let reason = match (found, signals::stopped(), total.exit_code.unwrap_or(0)) {
                (true, ..) => format!("something was found. {again}"),
                (false, Some(signal), _) => {
                    // Whatever the program made of it: the series is not whole.
                    total.exit_code = Some(128 + signal);
                    format!("signal {signal}{} asked for it", collect::name(signal))
                }
                (false, None, code) => format!("the program ended with exit code {code}. {again}"),
            };
            output::eprint_line(format_args!("softacl check: stopped at seed {seed} of {count}: {reason}"));
            total.schedule = schedule;
            total.seed = Some(seed);
        }
        None => {
            total.repeat = repeat(arguments, &["--seeds", &count.to_string()]);
            total.schedule = format!("random, seeds 1 to {count}");
            total.seed = None;
        }
    }
    Ok(total)
}

/// One line that replaces itself; only a terminal can show it.
fn progress(text: &str) {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}
