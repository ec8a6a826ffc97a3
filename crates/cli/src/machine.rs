//! The machine that a program meets: the options that `run` and `check` share, and its environment.

use crate::library::{self, Directories};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use softacl_engine::Schedule;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
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
    /// Pinned host memory at most, such as 1GiB
    #[arg(long)]
    host_memory: Option<String>,
    /// `align`: the documented 64-byte alignment of asynchronous copies becomes an error
    #[arg(long)]
    strict: Option<String>,
    /// Faults on purpose: rules such as aclrtMalloc@3=207001, or @FILE with one rule per line (docs/faults.md)
    #[arg(long, value_name = "RULES")]
    faults: Option<String>,
    /// Tell every failing call on standard error, with the reason
    #[arg(long)]
    log: bool,
    /// Put stand-ins for further vendor libraries behind softacl, so that programs load that need them
    ///
    /// They are libhccl, libge_runner and a few more, and contain only functions that refuse. For a program in a
    /// Python environment that has torch_npu, which does not load without them, they are there by themselves.
    #[arg(long)]
    with_stubs: bool,
}

impl Machine {
    /// The program with softacl in place of the Ascend libraries.
    pub fn command(&self, program: &[OsString]) -> Result<Command> {
        self.check()?;
        let Directories { library, stubs, tools } =
            library::directories(self.with_stubs || has_torch_npu(&program[0]))?;
        let before = |variable| {
            let text = env::var_os(variable).unwrap_or_default();
            env::split_paths(&text).filter(|path| *path != PathBuf::new()).collect::<Vec<_>>()
        };
        let libraries = [library].into_iter().chain(stubs).chain(before("LD_LIBRARY_PATH"));
        let programs = [tools].into_iter().chain(before("PATH"));
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]);
        command.env("LD_LIBRARY_PATH", env::join_paths(libraries)?).env("PATH", env::join_paths(programs)?);
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
        let flags = [(self.log, "--log"), (self.with_stubs, "--with-stubs")];
        let flags = flags.into_iter().filter_map(|(given, flag)| given.then_some(flag));
        given.flatten().chain(flags).map(str::to_owned).collect()
    }

    fn options(&self) -> [(&'static str, &'static str, Option<&str>); 8] {
        [
            ("SOFTACL_SOC", "--soc", self.soc.as_deref()),
            ("SOFTACL_FORM", "--form", self.form.as_deref()),
            ("SOFTACL_CANN", "--cann", self.cann.as_deref()),
            ("SOFTACL_DEVICES", "--devices", self.devices.as_deref()),
            ("SOFTACL_MEMORY", "--memory", self.memory.as_deref()),
            ("SOFTACL_HOST_MEMORY", "--host-memory", self.host_memory.as_deref()),
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
        for (option, size) in [("--memory", &self.memory), ("--host-memory", &self.host_memory)] {
            if let Some(size) = size {
                ascendcl_capi::memory_size(size)
                    .ok_or_else(|| anyhow!("{option}: {size:?} is not a size from 2MiB to 1024GiB, such as 64GiB"))?;
            }
        }
        Ok(())
    }
}

/// Whether a program lies in a Python environment with `torch_npu`: `bin` beside `lib/python3.x/site-packages`.
fn has_torch_npu(program: &OsStr) -> bool {
    // The first that is found is the one that is run.
    let places = match Path::new(program).components().count() {
        1 => env::split_paths(&env::var_os("PATH").unwrap_or_default()).map(|path| path.join(program)).collect(),
        _ => vec![PathBuf::from(program)],
    };
    let Some(found) = places.into_iter().find(|place| place.is_file()) else { return false };
    let Some(environment) = found.parent().and_then(Path::parent) else { return false };
    let versions = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    versions.into_iter().any(|version| version.path().join("site-packages/torch_npu").is_dir())
}

/// Reads `--schedule`.
pub fn schedule(text: &str) -> Result<Schedule> {
    text.parse().map_err(|error| anyhow!("--schedule: {error}"))
}
