//! The machine that a program meets: the options that `run`, `check` and `trace` share, the program, and its environment.

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
pub struct MachineOptions {
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
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM", help_heading = "The program")]
    pub program: Vec<OsString>,
}

impl MachineOptions {
    /// The program with softacl in place of the Ascend libraries.
    pub fn command(&self) -> Result<Command> {
        self.check()?;
        let program = &self.program;
        let Directories { library, stubs, tools, python } =
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
        if let Some(python) = python {
            let modules = [python].into_iter().chain(before("PYTHONPATH"));
            command.env("PYTHONPATH", env::join_paths(modules)?);
        }
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

    /// The error of a program that could not be started.
    pub fn spawn_error(&self) -> String {
        format!("could not run {}", self.program[0].to_string_lossy())
    }

    /// The program and its arguments as text.
    pub fn line(&self) -> Vec<String> {
        self.program.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The options as they were given, for a command that repeats this one.
    pub fn to_arguments(&self) -> Vec<String> {
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

    /// Finds what is wrong here, in an option or a variable, before the program starts and meets it as an error of
    /// its own.
    fn check(&self) -> Result<()> {
        let [soc, form, cann, devices, memory, host_memory, strict, faults] =
            self.options().map(|(variable, option, given)| Setting::new(variable, option, given));
        let text = |chosen: &Option<Setting>| chosen.as_ref().map(|chosen| chosen.text.clone());
        let origin = soc.as_ref().or(form.as_ref()).map_or("--soc", |chosen| chosen.origin);
        softacl_profiles::profile(text(&soc).as_deref(), text(&form).as_deref()).context(origin)?;
        let origin = cann.as_ref().map_or("--cann", |chosen| chosen.origin);
        softacl_profiles::cann(text(&cann).as_deref()).context(origin)?;
        if let Some(Setting { origin, text }) = devices
            && !text.parse().is_ok_and(|count| (1..=64).contains(&count))
        {
            bail!("{origin}: {text:?} is not a number from 1 to 64");
        }
        if let Some(Setting { origin, text }) = strict
            && text != "align"
        {
            bail!("{origin}: {text:?} is not known; known: align");
        }
        if let Some(Setting { origin, text }) = faults {
            ascendcl_capi::fault_rules(&text).map_err(|why| anyhow!("{origin}: {why}"))?;
        }
        for Setting { origin, text } in [memory, host_memory].into_iter().flatten() {
            ascendcl_capi::memory_size(&text)
                .ok_or_else(|| anyhow!("{origin}: {text:?} is not a size from 2MiB to 1024GiB, such as 64GiB"))?;
        }
        Ok(())
    }
}

/// A setting of the machine, and the option or the variable that it comes from.
struct Setting {
    origin: &'static str,
    text: String,
}

impl Setting {
    fn new(variable: &'static str, option: &'static str, given: Option<&str>) -> Option<Setting> {
        match given {
            Some(text) => Some(Setting { origin: option, text: text.to_owned() }),
            None => {
                let text = env::var(variable).ok().filter(|text| !text.is_empty())?;
                Some(Setting { origin: variable, text })
            }
        }
    }
}

/// The schedule that an option or the environment asks for.
pub fn schedule(given: Option<&str>) -> Result<Option<String>> {
    let Some(Setting { origin, text }) = Setting::new("SOFTACL_SCHEDULE", "--schedule", given) else { return Ok(None) };
    text.parse::<Schedule>().map_err(|error| anyhow!("{origin}: {error}"))?;
    Ok(Some(text))
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
