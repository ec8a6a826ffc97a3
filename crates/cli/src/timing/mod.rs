//! Options of the virtual clock, and its reports: what `run --timing`, `trace --timing` and `what-if` share.

pub mod text;

use crate::output;
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use softacl_profiles::{Chip, Figures, profile};
use softacl_timing::Log;
use softacl_timing::report::{Report, report};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Batch sizes that a report considers if none are given.
pub const BATCH_SIZES: [u32; 1] = [64];

/// Why a program cannot run with both.
pub const NO_SCHEDULE: &str = "--timing and --schedule exclude each other: the clock is a schedule";

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Timing options")]
pub struct ClockOptions {
    /// Time of a kernel, or its factor to the time here: decode=350us, *=x0.1; may be repeated
    #[arg(long, value_name = "NAME=TIME")]
    kernel: Vec<String>,
    /// Factor for the time that the program takes between calls [default: 0, which is reproducible]
    #[arg(long, value_name = "FACTOR")]
    host_scale: Option<f64>,
    /// Use the figures in FILE, such as `softacl calibrate` writes, instead of those of the chip; others stay
    #[arg(long, value_name = "FILE")]
    figures: Option<PathBuf>,
}

impl ClockOptions {
    /// Makes a program run on the virtual clock, in this mode, with its logs in a directory.
    pub fn apply(&self, command: &mut Command, mode: &str, directory: &Path) -> Result<()> {
        let kernels = self.kernel.join(",");
        ascendcl_capi::kernel_times(&kernels).map_err(|why| anyhow!("--kernel: {why}"))?;
        command.env("SOFTACL_TIMING", mode).env("SOFTACL_TIMING_LOG", directory.join("%p.times"));
        command.env_remove("SOFTACL_CHECK").env_remove("SOFTACL_SCHEDULE");
        if !kernels.is_empty() {
            command.env("SOFTACL_KERNEL_TIMES", kernels);
        }
        if let Some(scale) = self.host_scale {
            ensure!((0.0..=1e6).contains(&scale), "--host-scale: {scale} is not a factor from 0 to 1000000");
            command.env("SOFTACL_HOST_SCALE", scale.to_string());
        }
        if let Some(path) = &self.figures {
            command.env("SOFTACL_TIMING_FIGURES", std::path::absolute(path)?);
        }
        Ok(())
    }

    /// The chip of a SoC name, with the figures to use.
    pub fn chip(&self, soc: Option<&str>) -> Result<Chip> {
        let mut chip = profile(soc, None)?.chip.clone();
        if let Some(path) = &self.figures {
            chip.timing.merge(&figures(path)?);
        }
        ensure!(
            !chip.timing.is_empty(),
            "no timing figure is known for {}; `softacl chips --timing` shows the chips that have some",
            chip.family
        );
        Ok(chip)
    }

    /// The reports of all processes that have left a log in a directory, with their ids.
    pub fn reports(&self, directory: &Path, batch_sizes: &[u32]) -> Result<Vec<(u32, Report)>> {
        let mut reports = Vec::new();
        for (process, log) in logs(directory)? {
            let chip = self.chip(Some(&log.soc))?;
            reports.push((process, report(&log, &chip, &log.soc, batch_sizes)));
        }
        Ok(reports)
    }
}

/// Reads a file of figures.
pub fn figures(path: &Path) -> Result<Figures> {
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    Figures::parse(&text).with_context(|| path.display().to_string())
}

/// The logs in a directory, by process id. Processes that did nothing are left out.
pub fn logs(directory: &Path) -> Result<Vec<(u32, Log)>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "times") {
            continue;
        }
        let process = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let log = File::open(&path).and_then(|file| Log::read(&mut BufReader::with_capacity(1 << 16, file)));
        let log = log.with_context(|| format!("could not read {}", path.display()))?;
        if let Some(process) = process.filter(|_| !log.steps.is_empty()) {
            logs.push((process, log));
        }
    }
    logs.sort_by_key(|(process, _)| *process);
    Ok(logs)
}

/// Prints the reports of a program to stderr.
pub fn print(reports: &[(u32, Report)]) {
    if reports.is_empty() {
        output::eprint_line("softacl: no process used the runtime until its end, so there is no timing report");
    }
    for (process, report) in reports {
        if reports.len() > 1 {
            output::eprint_line(format_args!("process {process}"));
        }
        output::eprint_line(text::render(report).trim_end());
    }
}
