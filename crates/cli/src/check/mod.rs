//! `softacl check`: runs a program under the checker and reports the findings.
//!
//! The checker itself is part of the library that the program loads. Every process writes a report to a temporary
//! directory. This command runs the program, collects the reports and renders them.

mod arguments;
mod collect;
mod interposer;
mod outcome;
mod seeds;

pub use arguments::Arguments;

use crate::machine;
use crate::{output, signals};
use anyhow::{Context, Result, ensure};
use outcome::{fails, new_outcome};
use softacl_checker::report::suppression::Suppressions;
use softacl_checker::report::{Outcome, html, json, sarif, text};
use std::env;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code of a run with findings.
const EXIT_FINDINGS: u8 = 2;

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let suppressions = suppressions(&arguments.suppress)?;
    let files = files(arguments)?;
    signals::install().context("could not install signal handlers")?;
    let outcome = match arguments.seeds {
        Some(count) => seeds::run(arguments, count, &suppressions)?,
        None => single(arguments, &suppressions)?,
    };
    print_report(&outcome, arguments.verbose);
    let mut is_written = true;
    for (path, mut file, render) in files {
        if let Err(error) = file.write_all(render(&outcome).as_bytes()) {
            output::eprint_line(format_args!("softacl: could not write {}: {error}", path.display()));
            is_written = false;
        }
    }
    let program_code = outcome.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(match (fails(&outcome, arguments.fail_on), is_written) {
        (true, _) => EXIT_FINDINGS,
        (false, true) => program_code,
        (false, false) => 1,
    }))
}

/// Renders an outcome as the contents of a file.
type Render = fn(&Outcome) -> String;

/// Opens the report files before the program runs, so that a wrong path does not waste the run.
fn files(arguments: &Arguments) -> Result<Vec<(&Path, File, Render)>> {
    let wanted: [(&Option<PathBuf>, Render); 3] =
        [(&arguments.json, json::render), (&arguments.sarif, sarif::render), (&arguments.html, html::render)];
    let wanted: Vec<(&Path, Render)> =
        wanted.into_iter().filter_map(|(path, render)| Some((path.as_deref()?, render))).collect();
    for (index, (path, _)) in wanted.iter().enumerate() {
        ensure!(
            wanted[..index].iter().all(|(other, _)| other != path),
            "two reports in the same file: {}",
            path.display()
        );
    }
    wanted
        .into_iter()
        .map(|(path, render)| {
            let file = output::open(path)?;
            Ok((path, file, render))
        })
        .collect()
}

fn single(arguments: &Arguments, suppressions: &Suppressions) -> Result<Outcome> {
    let schedule = machine::schedule(arguments.schedule.as_deref())?.unwrap_or_else(|| "late".to_owned());
    let mut outcome = new_outcome(arguments, &schedule);
    collect::run(arguments, &schedule, suppressions, &mut outcome, |_| Ok(()))?;
    Ok(outcome)
}

fn suppressions(paths: &[PathBuf]) -> Result<Suppressions> {
    let mut all = Suppressions::default();
    for path in paths {
        let text =
            fs::read_to_string(path).with_context(|| format!("--suppress: could not read {}", path.display()))?;
        all.extend(Suppressions::parse(&text).with_context(|| format!("--suppress {}", path.display()))?);
    }
    Ok(all)
}

fn print_report(outcome: &Outcome, verbose: bool) {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    let color = io::stderr().is_terminal() && set("NO_COLOR").is_none() && !dumb;
    let text = text::render(outcome, text::Options { color, verbose });
    // Ignore write errors; the exit code carries the result.
    let _ = io::stderr().write_all(text.as_bytes());
}
