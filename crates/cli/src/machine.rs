//! Options that `run`, `check` and `trace` share: the simulated machine, and the program with its environment.

use crate::{library, output, settings};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use softacl_engine::Schedule;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args, Debug, Default, Clone)]
#[command(next_help_heading = "Machine options")]
pub struct MachineOptions {
    /// Chip family (Ascend310P) or full SoC name (Ascend910B3); see `softacl chips`
    #[arg(long)]
    soc: Option<String>,
    /// How the chip is attached: EP (endpoint, driven by a host), RC (root complex) or CPU (control CPU; the program
    /// runs on the chip)
    #[arg(long)]
    form: Option<String>,
    /// CANN version to emulate
    #[arg(long)]
    cann: Option<String>,
    /// Number of devices (1 to 64)
    #[arg(long)]
    devices: Option<String>,
    /// Memory per device, for example 64GiB
    #[arg(long)]
    memory: Option<String>,
    /// Limit on pinned host memory, for example 1GiB
    #[arg(long)]
    host_memory: Option<String>,
    /// Libraries with CPU versions of kernels (softacl/kernel.h), separated by colons
    #[arg(long)]
    kernels: Option<String>,
    /// Enforce documented requirements that hardware may tolerate, as a comma list: `align` (alignment of asynchronous
    /// copies, up to CANN 8.5), `peer` (peer access in both directions)
    #[arg(long)]
    strict: Option<String>,
    /// Inject faults: rules such as aclrtMalloc@3=207001, or @FILE with one rule per line (docs/faults.md)
    #[arg(long, value_name = "RULES")]
    faults: Option<String>,
    /// Log every failing call to stderr, with the reason
    #[arg(long)]
    log: bool,
    /// Log every failing call to FILE, to which all processes of the program append
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Provide stub versions of other vendor libraries, for programs that need them to load
    ///
    /// The stubs (libge_runner and others) contain only functions that return an error. Enabled automatically
    /// for programs in a Python environment with torch_npu, which does not load without them.
    #[arg(long)]
    with_stubs: bool,
    /// Provide the operator interface: libopapi.so and libnnopbase.so
    ///
    /// Operators compute on the CPU (docs/aclnn.md). Not the default, because frameworks use this interface wherever they
    /// find it.
    #[arg(long)]
    with_aclnn: bool,
    /// Program and arguments
    #[arg(last = true, value_name = "PROGRAM", help_heading = "Program")]
    pub program: Vec<OsString>,
}

impl MachineOptions {
    /// Returns a command that runs the program with softacl in place of the Ascend libraries.
    pub fn command(&self) -> Result<Command> {
        ensure!(!self.program.is_empty(), "no program was given; it comes after `--`, for example: -- ./app --my-flag");
        self.check()?;
        let program = &self.program;
        let options =
            softacl_toolkit::Options { stubs: self.with_stubs || has_torch_npu(&program[0]), aclnn: self.with_aclnn };
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).envs(softacl_toolkit::environment(&library::home()?, options)?);
        for (variable, option, given) in self.options() {
            if let Some(setting) = Setting::new(variable, option, given)? {
                command.env(variable, setting.text);
            }
        }
        if self.log {
            command.env("SOFTACL_LOG", "1");
        }
        if let Some(file) = &self.log_file {
            // Opened here for the sake of the message; the program may change its directory.
            output::append(file).context("--log-file")?;
            command.env("SOFTACL_LOG_FILE", std::path::absolute(file)?);
        }
        Ok(command)
    }

    /// The chip that the options name.
    pub fn soc(&self) -> Option<&str> {
        self.soc.as_deref()
    }

    /// Returns one set of options per chip in the comma list of `--soc`.
    pub fn by_soc(&self) -> Vec<MachineOptions> {
        let Some(list) = &self.soc else { return vec![self.clone()] };
        list.split(',').map(|soc| MachineOptions { soc: Some(soc.trim().to_owned()), ..self.clone() }).collect()
    }

    /// Returns the CANN version and the number of devices that the program will find.
    pub fn version_and_devices(&self) -> Result<(String, u32)> {
        let setting = |variable: &str| -> Result<Option<String>> {
            let found = self.options().into_iter().find(|(name, ..)| *name == variable);
            let Some((variable, option, given)) = found else { return Ok(None) };
            Ok(Setting::new(variable, option, given)?.map(|setting| setting.text))
        };
        let version = softacl_profiles::cann(setting("SOFTACL_CANN")?.as_deref())?.version.clone();
        let devices = setting("SOFTACL_DEVICES")?.and_then(|text| text.parse().ok());
        Ok((version, devices.map_or_else(ascendcl_capi::device_count, Ok).map_err(|error| anyhow!(error))?))
    }

    /// Returns the error message for a program that could not be started.
    pub fn spawn_error(&self) -> String {
        format!("could not run {}", self.program[0].to_string_lossy())
    }

    /// Returns the program and its arguments as text.
    pub fn line(&self) -> Vec<String> {
        self.program.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Returns the given options as command-line arguments, for the command that repeats a run.
    pub fn to_arguments(&self) -> Vec<String> {
        let given = self.options().into_iter().filter_map(|(_, option, value)| Some([option, value?]));
        let flags = [(self.log, "--log"), (self.with_stubs, "--with-stubs"), (self.with_aclnn, "--with-aclnn")];
        let flags = flags.into_iter().filter_map(|(given, flag)| given.then_some(flag));
        given.flatten().chain(flags).map(str::to_owned).collect()
    }

    /// Returns variable, option and value of every setting.
    fn options(&self) -> [(&'static str, &'static str, Option<&str>); 9] {
        [
            ("SOFTACL_SOC", "--soc", self.soc.as_deref()),
            ("SOFTACL_FORM", "--form", self.form.as_deref()),
            ("SOFTACL_CANN", "--cann", self.cann.as_deref()),
            ("SOFTACL_DEVICES", "--devices", self.devices.as_deref()),
            ("SOFTACL_MEMORY", "--memory", self.memory.as_deref()),
            ("SOFTACL_HOST_MEMORY", "--host-memory", self.host_memory.as_deref()),
            ("SOFTACL_KERNELS", "--kernels", self.kernels.as_deref()),
            ("SOFTACL_STRICT", "--strict", self.strict.as_deref()),
            ("SOFTACL_FAULTS", "--faults", self.faults.as_deref()),
        ]
    }

    /// Validates options and variables before the program starts. Otherwise the program would fail later, with a less
    /// helpful error.
    fn check(&self) -> Result<()> {
        let mut all = Vec::new();
        for (variable, option, given) in self.options() {
            all.push(Setting::new(variable, option, given)?);
        }
        let [soc, form, cann, devices, memory, host_memory, kernels, strict, faults] =
            <[Option<Setting>; 9]>::try_from(all).expect("one setting per option");
        let text = |setting: &Option<Setting>| setting.as_ref().map(|setting| setting.text.clone());
        let origin = soc.as_ref().or(form.as_ref()).map_or("--soc".to_owned(), |setting| setting.origin.clone());
        softacl_profiles::profile(text(&soc).as_deref(), text(&form).as_deref()).context(origin)?;
        let origin = cann.as_ref().map_or("--cann".to_owned(), |setting| setting.origin.clone());
        softacl_profiles::cann(text(&cann).as_deref()).context(origin)?;
        if let Some(Setting { origin, text }) = devices
            && !text.parse().is_ok_and(|count| (1..=64).contains(&count))
        {
            bail!("{origin}: {text:?} is not a number from 1 to 64");
        }
        if let Some(Setting { origin, text }) = kernels {
            for path in text.split(':').filter(|path| path.contains('/')) {
                ensure!(Path::new(path).is_file(), "{origin}: {path} does not exist");
            }
        }
        if let Some(Setting { origin, text }) = strict {
            ascendcl_capi::strict(&text).map_err(|why| anyhow!("{origin}: {why}"))?;
        }
        if let Some(Setting { origin, text }) = faults {
            ascendcl_capi::fault_rules(&text).map_err(|why| anyhow!("{origin}: {why}"))?;
        }
        for Setting { origin, text } in [memory, host_memory].into_iter().flatten() {
            ascendcl_capi::memory_size(&text)
                .ok_or_else(|| anyhow!("{origin}: {text:?} is not a size from 2MiB to 1024GiB, for example 64GiB"))?;
        }
        Ok(())
    }
}

/// A value of a setting and the option, variable or file that it comes from.
#[derive(Debug)]
struct Setting {
    origin: String,
    text: String,
}

impl Setting {
    fn new(variable: &'static str, option: &'static str, given: Option<&str>) -> Result<Option<Setting>> {
        if let Some(text) = given {
            return Ok(Some(Setting { origin: option.to_owned(), text: text.to_owned() }));
        }
        if let Some(text) = env::var(variable).ok().filter(|text| !text.is_empty()) {
            return Ok(Some(Setting { origin: variable.to_owned(), text }));
        }
        let value = settings::settings()?.value(option);
        Ok(value.map(|(text, file)| Setting { origin: format!("{}: {}", file.display(), &option[2..]), text }))
    }
}

/// Returns the schedule that the option or the environment selects, after validation.
pub fn schedule(given: Option<&str>) -> Result<Option<String>> {
    let setting = Setting::new("SOFTACL_SCHEDULE", "--schedule", given)?;
    let Some(Setting { origin, text }) = setting else { return Ok(None) };
    text.parse::<Schedule>().map_err(|error| anyhow!("{origin}: {error}"))?;
    Ok(Some(text))
}

/// True if a program is in a Python environment with `torch_npu`: `bin` next to `lib/python3.x/site-packages`.
fn has_torch_npu(program: &OsStr) -> bool {
    // As `exec` does, use the first match on the path.
    let candidates = match Path::new(program).components().count() {
        1 => env::split_paths(&env::var_os("PATH").unwrap_or_default()).map(|path| path.join(program)).collect(),
        _ => vec![PathBuf::from(program)],
    };
    let Some(found) = candidates.into_iter().find(|path| path.is_file()) else { return false };
    let Some(environment) = found.parent().and_then(Path::parent) else { return false };
    let versions = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    versions.into_iter().any(|version| version.path().join("site-packages/torch_npu").is_dir())
}
