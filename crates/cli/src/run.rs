//! `softacl run`: an unmodified program on softacl.

use crate::machine::{self, MachineOptions};
use anyhow::{Context, Result, anyhow};
use clap::Args;
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
    machine: MachineOptions,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let mut command = arguments.machine.command()?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| arguments.machine.spawn_error())
}
