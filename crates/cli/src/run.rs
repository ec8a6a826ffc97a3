//! `softacl run`: runs a program on softacl.

use crate::machine::{self, MachineOptions};
use crate::{host_files, library};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use std::os::unix::process::CommandExt;

/// Run a program on softacl
///
/// Sets the variables that set_env.sh of a toolkit sets, so that libascendcl.so and its other names resolve to softacl,
/// sets the SOFTACL_* variables for the given options, and replaces itself with the program (exec).
#[derive(Args)]
pub struct Arguments {
    /// When queued tasks execute: threads, early, late or random:SEED [default: threads]
    #[arg(long)]
    schedule: Option<String>,
    /// Show files that clients read at fixed places, such as /usr/local/Ascend/driver/version.info
    ///
    /// The program and its children see them in a private mount namespace; nothing is written to the system. The files
    /// are /usr/local/Ascend/driver/version.info and driver/tools/hccn_tool, /usr/local/Ascend/ascend-toolkit,
    /// /usr/local/sbin/npu-smi, /etc/ascend_install.info and /etc/hccn.conf.
    #[arg(long)]
    host_files: bool,
    #[command(flatten)]
    machine: MachineOptions,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let mut command = arguments.machine.command()?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    if arguments.host_files {
        let (version, devices) = arguments.machine.version_and_devices()?;
        host_files::show(&softacl_toolkit::host_files(&library::home()?, &version, devices))?;
    }
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| arguments.machine.spawn_error())
}
