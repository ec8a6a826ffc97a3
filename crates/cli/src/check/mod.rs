//! `softacl check`: runs a program under the checker and reports the findings.
//!
//! The checker itself is part of the library that the program loads. Every process writes a report to a temporary
//! directory. This command runs the program, collects the reports and renders them.

mod arguments;
mod collect;
mod explore;
mod gdb;
mod interposer;
mod outcome;
mod processes;
mod seeds;
mod timer;

pub use arguments::Arguments;

use crate::machine;
use crate::{output, settings, signals};
use anyhow::{Context, Result, ensure};
use arguments::{FailOn, Format};
use outcome::{exit_code, fails, new_outcome};
use softacl_checker::report::suppression::Suppressions;
use softacl_checker::report::{Outcome, github, html, json, markdown, sarif, text};
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let mut hidden = arguments.suppress.clone();
    hidden.extend(settings::settings()?.suppressions());
    let suppressions = suppressions(&hidden)?;
    let files = files(arguments)?;
    signals::install().context("could not install signal handlers")?;
    let program_output = program_output(arguments, &files)?;
    let mut outcome = match arguments.seeds {
        _ if arguments.explore => explore::run(arguments, &suppressions, program_output.as_ref())?,
        Some(count) => seeds::run(arguments, count, &suppressions, program_output.as_ref())?,
        None => single(arguments, &suppressions, program_output.as_ref())?,
    };
    if arguments.no_timeline {
        outcome.remove_timelines();
    }
    print_report(&outcome, arguments);
    let mut is_written = true;
    for (path, mut file, render) in files {
        if let Err(error) = file.write_all(render(&outcome).as_bytes()) {
            output::eprint_line(format_args!("softacl: could not write {}: {error}", path.display()));
            is_written = false;
        }
    }
    if !is_written && !fails(&outcome, arguments.fail_on) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::from(exit_code(&outcome, arguments)))
}

/// Renders an outcome as the contents of a file.
type Render = fn(&Outcome) -> String;

/// Opens the report files before the program runs, so that a wrong path does not waste the run.
fn files(arguments: &Arguments) -> Result<Vec<(PathBuf, File, Render)>> {
    let wanted: [(&Option<PathBuf>, Render); 4] = [
        (&arguments.json, json::render),
        (&arguments.sarif, sarif::render),
        (&arguments.html, html::render),
        (&arguments.summary, markdown::render),
    ];
    let wanted: Vec<(&Path, Render)> =
        wanted.into_iter().filter_map(|(path, render)| Some((path.as_deref()?, render))).collect();
    for (index, (path, _)) in wanted.iter().enumerate() {
        ensure!(
            wanted[..index].iter().all(|(other, _)| other != path),
            "two reports in the same file: {}",
            path.display()
        );
    }
    let mut files: Vec<(PathBuf, File, Render)> = Vec::new();
    for (path, render) in wanted {
        files.push((path.to_owned(), output::open(path)?, render));
    }
    // Other steps of the job write to this file too.
    let job_summary = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = job_summary.filter(|_| arguments.format == Format::Github && arguments.summary.is_none()) {
        let file = output::append(&path)?;
        files.push((path, file, markdown::render));
    }
    Ok(files)
}

/// Where the program's standard output goes, if not to that of this command. A report on standard output must stay
/// readable for the next program.
fn program_output(arguments: &Arguments, files: &[(PathBuf, File, Render)]) -> Result<Option<File>> {
    if let Some(path) = &arguments.program_output {
        ensure!(files.iter().all(|(other, ..)| other != path), "two reports in the same file: {}", path.display());
        return output::open(path).map(Some);
    }
    match files.iter().any(|(path, ..)| output::is_stdout(path)) {
        true => output::stderr().map(Some),
        false => Ok(None),
    }
}

fn single(arguments: &Arguments, suppressions: &Suppressions, stdout: Option<&File>) -> Result<Outcome> {
    let schedule = machine::schedule(arguments.schedule.as_deref())?.unwrap_or_else(|| "late".to_owned());
    let mut outcome = new_outcome(arguments, &schedule);
    collect::run(arguments, &schedule, suppressions, &mut outcome, |command| {
        if let Some(file) = stdout {
            command.stdout(file.try_clone()?);
        }
        Ok(())
    })?;
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

fn print_report(outcome: &Outcome, arguments: &Arguments) {
    let options = text::Options {
        color: output::has_color_on_stderr(),
        verbose: output::is_verbose(),
        // Advice that makes the exit code 2 must be shown.
        quiet: output::is_quiet() && arguments.fail_on != FailOn::Advice,
        width: output::width(io::stderr()),
    };
    let mut text = text::render(outcome, options);
    if arguments.format == Format::Github {
        let root = env::var_os("GITHUB_WORKSPACE").filter(|value| !value.is_empty());
        let root = root.map_or_else(|| env::current_dir().unwrap_or_default(), PathBuf::from);
        text += &github::render(outcome, &root);
    }
    // Ignore write errors; the exit code carries the result.
    let _ = io::stderr().write_all(text.as_bytes());
}
