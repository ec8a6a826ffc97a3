//! `softacl run`: runs a program on softacl.

use crate::machine::{self, MachineOptions};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use std::os::unix::process::CommandExt;

/// Run a program on softacl
///
/// Sets LD_LIBRARY_PATH so that libascendcl.so and libacl_rt.so resolve to softacl, sets the SOFTACL_* variables for
/// the given options, and replaces itself with the program (exec).
#[derive(Args)]
pub struct Arguments {
    /// When queued tasks execute: threads, early, late or random:SEED [default: threads]
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
