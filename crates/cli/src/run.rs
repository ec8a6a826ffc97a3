//! `softacl run`: an unmodified program on softacl.

use crate::library;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use softacl_engine::Schedule;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Run an unmodified program on softacl.
///
/// Sets LD_LIBRARY_PATH so that libascendcl.so and libacl_rt.so are softacl's, sets the SOFTACL_*
/// variables that the options name, and becomes the program: its exit code is the exit code.
#[derive(Args)]
pub struct Arguments {
    /// The chip: a family such as Ascend310P, or a full name such as Ascend910B3 (`softacl chips`)
    #[arg(long)]
    soc: Option<String>,
    /// How the chip is attached: EP or RC
    #[arg(long)]
    form: Option<String>,
    /// The CANN version whose behaviour is reproduced
    #[arg(long)]
    cann: Option<String>,
    /// Number of devices, 1 to 64
    #[arg(long)]
    devices: Option<String>,
    /// Memory of each device, such as 64GiB
    #[arg(long)]
    memory: Option<String>,
    /// When queued work runs: threads, early, late or random:SEED
    #[arg(long)]
    schedule: Option<String>,
    /// `align`: the documented 64-byte alignment of asynchronous copies becomes an error
    #[arg(long)]
    strict: Option<String>,
    /// Tell every failing call on standard error, with the reason
    #[arg(long)]
    log: bool,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    check(arguments)?;
    let directory = library::directory()?;
    let mut paths = vec![directory];
    if let Some(before) = env::var_os("LD_LIBRARY_PATH") {
        paths.extend(env::split_paths(&before).filter(|path| *path != PathBuf::new()));
    }
    let mut command = Command::new(&arguments.program[0]);
    command.args(&arguments.program[1..]).env("LD_LIBRARY_PATH", env::join_paths(paths)?);
    for (name, value) in variables(arguments) {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| format!("could not run {}", arguments.program[0].to_string_lossy()))
}

fn variables(arguments: &Arguments) -> [(&'static str, Option<&str>); 8] {
    [
        ("SOFTACL_SOC", arguments.soc.as_deref()),
        ("SOFTACL_FORM", arguments.form.as_deref()),
        ("SOFTACL_CANN", arguments.cann.as_deref()),
        ("SOFTACL_DEVICES", arguments.devices.as_deref()),
        ("SOFTACL_MEMORY", arguments.memory.as_deref()),
        ("SOFTACL_SCHEDULE", arguments.schedule.as_deref()),
        ("SOFTACL_STRICT", arguments.strict.as_deref()),
        ("SOFTACL_LOG", arguments.log.then_some("1")),
    ]
}

/// Finds a wrong option here, before the program starts and meets it as an error of its own.
fn check(arguments: &Arguments) -> Result<()> {
    softacl_profiles::profile(arguments.soc.as_deref(), arguments.form.as_deref()).context("--soc, --form")?;
    softacl_profiles::cann(arguments.cann.as_deref()).context("--cann")?;
    if let Some(schedule) = &arguments.schedule {
        schedule.parse::<Schedule>().map_err(|error| anyhow!("--schedule: {error}"))?;
    }
    if let Some(devices) = &arguments.devices
        && !devices.parse().is_ok_and(|count| (1..=64).contains(&count))
    {
        bail!("--devices: {devices:?} is not a number from 1 to 64");
    }
    if let Some(strict) = &arguments.strict
        && strict != "align"
    {
        bail!("--strict: {strict:?} is not known; known: align");
    }
    if let Some(memory) = &arguments.memory {
        ascendcl::memory_size(memory)
            .ok_or_else(|| anyhow!("--memory: {memory:?} is not a size from 2MiB to 1024GiB, such as 64GiB"))?;
    }
    Ok(())
}
