//! `softacl run`: runs a program on softacl.

use crate::machine::{self, MachineOptions};
use crate::nodes::{self, NodeOptions};
use crate::timing::{self, ClockOptions};
use crate::{host_files, library, output, signals};
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use std::os::unix::process::{CommandExt, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

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
    /// Estimate the time on the chip, from published figures (docs/timing.md), and print a report to stderr
    ///
    /// The program runs on a virtual clock: event times, timeouts and queries are those of the model. With
    /// --timing=report they are real, and only the report is virtual.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "clock",
          value_parser = ["clock", "report"])]
    timing: Option<String>,
    /// Write the timing report as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE", requires = "timing")]
    json: Option<PathBuf>,
    #[command(flatten)]
    clock: ClockOptions,
    #[command(flatten)]
    nodes: NodeOptions,
    #[command(flatten)]
    machine: MachineOptions,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let schedule = machine::schedule(arguments.schedule.as_deref())?;
    let adapt = |command: &mut Command| {
        if let Some(schedule) = &schedule {
            command.env("SOFTACL_SCHEDULE", schedule);
        }
    };
    if let Some(nodes) = arguments.nodes.nodes {
        return nodes::run(&arguments.nodes, nodes, &arguments.machine, arguments.host_files, adapt);
    }
    let mut command = arguments.machine.command()?;
    adapt(&mut command);
    if arguments.host_files {
        let (version, devices) = arguments.machine.version_and_devices()?;
        host_files::show(&softacl_toolkit::host_files(&library::home()?, &version, devices))?;
    }
    if let Some(mode) = &arguments.timing {
        ensure!(arguments.schedule.is_none(), timing::NO_SCHEDULE);
        return run_timed(arguments, command, mode);
    }
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| arguments.machine.spawn_error())
}

/// Runs the program on the virtual clock and reports. Returns the exit code of the program.
fn run_timed(arguments: &Arguments, mut command: Command, mode: &str) -> Result<ExitCode> {
    arguments.clock.chip(arguments.machine.soc())?;
    let directory = output::directory("softacl-timing-")?;
    let mode = if mode == "report" { "report" } else { "1" };
    arguments.clock.apply(&mut command, mode, directory.path())?;
    if arguments.json.as_deref().is_some_and(output::is_stdout) {
        command.stdout(output::stderr()?);
    }
    signals::install().context("could not install signal handlers")?;
    let (_, status) = signals::run(&mut command).with_context(|| arguments.machine.spawn_error())?;
    let reports = arguments.clock.reports(directory.path(), &timing::BATCH_SIZES)?;
    timing::print(&reports);
    if let Some(path) = &arguments.json {
        output::write_json(path, &reports.iter().map(|(_, report)| report).collect::<Vec<_>>())?;
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
