//! The machine that a program meets: the options that `run` and `check` share, and its environment.

use crate::library;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use softacl_engine::Schedule;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "The machine")]
pub struct Machine {
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
    /// `align`: the documented 64-byte alignment of asynchronous copies becomes an error
    #[arg(long)]
    strict: Option<String>,
    /// Faults on purpose: rules such as aclrtMalloc@3=207001, or @FILE with one rule per line (docs/faults.md)
    #[arg(long, value_name = "RULES")]
    faults: Option<String>,
    /// Tell every failing call on standard error, with the reason
    #[arg(long)]
    log: bool,
}

impl Machine {
    /// The program with softacl in place of the Ascend libraries.
    pub fn command(&self, program: &[OsString]) -> Result<Command> {
        self.check()?;
        let mut paths = vec![library::directory()?];
        if let Some(before) = env::var_os("LD_LIBRARY_PATH") {
            paths.extend(env::split_paths(&before).filter(|path| *path != PathBuf::new()));
        }
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).env("LD_LIBRARY_PATH", env::join_paths(paths)?);
        for (variable, _, value) in self.options() {
            if let Some(value) = value {
                command.env(variable, value);
            }
        }
        if self.log {
            command.env("SOFTACL_LOG", "1");
        }
        Ok(command)
    }

    /// The options as they were given, for a command that repeats this one.
    pub fn words(&self) -> Vec<String> {
        let given = self.options().into_iter().filter_map(|(_, option, value)| Some([option, value?]));
        given.flatten().map(str::to_owned).chain(self.log.then(|| "--log".to_owned())).collect()
    }

    fn options(&self) -> [(&'static str, &'static str, Option<&str>); 7] {
        [
            ("SOFTACL_SOC", "--soc", self.soc.as_deref()),
            ("SOFTACL_FORM", "--form", self.form.as_deref()),
            ("SOFTACL_CANN", "--cann", self.cann.as_deref()),
            ("SOFTACL_DEVICES", "--devices", self.devices.as_deref()),
            ("SOFTACL_MEMORY", "--memory", self.memory.as_deref()),
            ("SOFTACL_STRICT", "--strict", self.strict.as_deref()),
            ("SOFTACL_FAULTS", "--faults", self.faults.as_deref()),
        ]
    }

    /// Finds a wrong option here, before the program starts and meets it as an error of its own.
    fn check(&self) -> Result<()> {
        softacl_profiles::profile(self.soc.as_deref(), self.form.as_deref()).context("--soc, --form")?;
        softacl_profiles::cann(self.cann.as_deref()).context("--cann")?;
        if let Some(devices) = &self.devices
            && !devices.parse().is_ok_and(|count| (1..=64).contains(&count))
        {
            bail!("--devices: {devices:?} is not a number from 1 to 64");
        }
        if let Some(strict) = &self.strict
            && strict != "align"
        {
            bail!("--strict: {strict:?} is not known; known: align");
        }
        if let Some(faults) = &self.faults {
            ascendcl_capi::fault_rules(faults).map_err(|why| anyhow!("--faults: {why}"))?;
        }
        if let Some(memory) = &self.memory {
            ascendcl_capi::memory_size(memory)
                .ok_or_else(|| anyhow!("--memory: {memory:?} is not a size from 2MiB to 1024GiB, such as 64GiB"))?;
        }
        Ok(())
    }
}

/// Reads `--schedule`.
pub fn schedule(text: &str) -> Result<Schedule> {
    text.parse().map_err(|error| anyhow!("--schedule: {error}"))
}
