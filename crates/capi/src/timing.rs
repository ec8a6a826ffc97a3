//! The virtual clock of this process: its settings from the environment, and its log when the process ends.

use crate::machine_cell;
use softacl_engine::{KernelTime, Timing};
use softacl_profiles::{Figures, Profile};
use softacl_timing::{Bound, Costs};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Variable that enables the clock.
pub(crate) const TIMING: &str = "SOFTACL_TIMING";
/// Variable that names the file for the log.
pub(crate) const TIMING_LOG: &str = "SOFTACL_TIMING_LOG";
/// Variable that names a file of figures.
pub(crate) const TIMING_FIGURES: &str = "SOFTACL_TIMING_FIGURES";
/// Variable with the times of kernels.
pub(crate) const KERNEL_TIMES: &str = "SOFTACL_KERNEL_TIMES";
/// Variable with the factor for host time.
pub(crate) const HOST_SCALE: &str = "SOFTACL_HOST_SCALE";

/// Where the log is written. The path is absolute, because the program may change its directory.
static LOG: OnceLock<PathBuf> = OnceLock::new();

/// Reads the settings of the clock, with a function that looks up variables. `None` if it is not enabled.
pub(crate) fn from_environment(profile: &Profile, var: fn(&str) -> Option<String>) -> Result<Option<Timing>, String> {
    let is_visible = match var(TIMING).as_deref() {
        None | Some("0") => return Ok(None),
        Some("1") => true,
        Some("report") => false,
        Some(other) => return Err(format!("{TIMING}: {other:?} is not known; known: 0, 1, report")),
    };
    let mut known = profile.chip.timing.clone();
    if let Some(path) = var(TIMING_FIGURES) {
        known.merge(&figures(&path)?);
    }
    let figures = known;
    if figures.is_empty() {
        let family = &profile.chip.family;
        return Err(format!("{TIMING}: no timing figure is known for {family}; `softacl chips --timing` lists them"));
    }
    let host_scale = match var(HOST_SCALE) {
        None => 0.0,
        Some(text) => match text.parse() {
            Ok(scale) if (0.0..=1e6).contains(&scale) => scale,
            _ => return Err(format!("{HOST_SCALE}: {text:?} is not a factor from 0 to 1000000")),
        },
    };
    let kernels =
        kernel_times(&var(KERNEL_TIMES).unwrap_or_default()).map_err(|why| format!("{KERNEL_TIMES}: {why}"))?;
    if let Some(path) = var(TIMING_LOG) {
        let path = path.replace("%p", &std::process::id().to_string());
        let path = std::path::absolute(&path).map_err(|error| format!("{TIMING_LOG}: {path}: {error}"))?;
        let _ = LOG.set(path);
    }
    Ok(Some(Timing { costs: Costs::new(&figures, Bound::Expected), is_visible, host_scale, kernels }))
}

/// Reads a file of figures. The error names the file.
pub fn figures(path: &str) -> Result<Figures, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{TIMING_FIGURES}: {path}: {error}"))?;
    Figures::parse(&text).map_err(|error| format!("{TIMING_FIGURES}: {path}: {error}"))
}

/// Parses times of kernels, such as `decode=350us,*=x0.1`.
pub fn kernel_times(text: &str) -> Result<HashMap<String, KernelTime>, String> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(kernel_time).collect()
}

fn kernel_time(entry: &str) -> Result<(String, KernelTime), String> {
    let wrong = || format!("{entry:?} is not NAME=TIME, for example decode=350us, prefill=2ms or *=x0.1");
    let (name, time) = entry.split_once('=').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| (0.0..=1e9).contains(value));
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let time = match time.strip_prefix('x') {
        Some(scale) => KernelTime::Measured(number(scale).ok_or_else(wrong)?),
        None => {
            let in_unit = |(unit, ns): (&str, f64)| Some(number(time.strip_suffix(unit)?)? * ns);
            KernelTime::Nanoseconds(units.into_iter().find_map(in_unit).ok_or_else(wrong)? as u64)
        }
    };
    Ok((name.trim().to_owned(), time))
}

/// Writes the log when the process ends.
extern "C" fn at_exit() {
    let Some(path) = LOG.get().filter(|_| !machine_cell::is_forked()) else { return };
    let write = || {
        let Some(log) = machine_cell::fast().and_then(softacl_engine::Machine::timing_log) else { return Ok(()) };
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
        log.write(&mut file)?;
        file.flush()
    };
    match std::panic::catch_unwind(write) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let _ = writeln!(std::io::stderr(), "softacl: {TIMING_LOG}: {}: {error}", path.display());
        }
        Err(_) => {
            let _ =
                writeln!(std::io::stderr(), "softacl: the log of times was not written; this is a defect of softacl");
        }
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_times_have_units_or_factors() {
        let times = kernel_times("decode=350us, prefill=2ms,*=x0.1,").unwrap();
        assert_eq!(times["decode"], KernelTime::Nanoseconds(350_000));
        assert_eq!(times["prefill"], KernelTime::Nanoseconds(2_000_000));
        assert_eq!(times["*"], KernelTime::Measured(0.1));
        for wrong in ["decode", "decode=5", "decode=xus", "decode=-1us", "=", "decode=x"] {
            assert!(kernel_times(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
