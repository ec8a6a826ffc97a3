//! `softacl run`: an unmodified program on softacl.

use crate::machine::{self, Machine};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;

/// Run an unmodified program on softacl.
///
/// Sets LD_LIBRARY_PATH so that libascendcl.so and libacl_rt.so are softacl's, sets the SOFTACL_*
/// variables that the options name, and becomes the program: its exit code is the exit code.
#[derive(Args)]
pub struct Arguments {
    /// When queued work runs: threads, early, late or random:SEED
    #[arg(long)]
    schedule: Option<String>,
    #[command(flatten)]
    machine: Machine,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM", help_heading = "The program")]
    program: Vec<OsString>,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let mut command = arguments.machine.command(&arguments.program)?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| format!("could not run {}", arguments.program[0].to_string_lossy()))
}
