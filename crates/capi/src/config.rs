//! The configuration of the process, from its environment. It is read once, on first use, so that a program can set
//! the variables itself after it has loaded the library.

use crate::{faults, timing};
use softacl_engine::{Config, Replay, Schedule};
use softacl_profiles::{cann, profile};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use std::{env, fs};

/// An environment variable, as `softacl env` lists it.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

/// Variable that bounds how long a stepped schedule defers ready tasks.
const PROGRESS_TIMEOUT: &str = "SOFTACL_PROGRESS_TIMEOUT_MS";
/// Former name of that variable, accepted for one release.
const PATIENCE: &str = "SOFTACL_PATIENCE";

/// Variable that names the directory for the log of a replayed order.
const REPLAY_LOG: &str = "SOFTACL_REPLAY_LOG";
/// Variable that names kernel libraries.
const KERNELS: &str = "SOFTACL_KERNELS";

/// Every variable that softacl reads.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "SOFTACL_SOC",
        default: "Ascend910B",
        meaning: "chip family or full SoC name (Ascend910B3); see `softacl chips`",
    },
    Variable {
        name: "SOFTACL_FORM",
        default: "EP",
        meaning: "how the chip is attached: EP (endpoint), RC (root complex) or CPU (control CPU)",
    },
    Variable {
        name: "SOFTACL_CANN",
        default: "9.2.0",
        meaning: "CANN version to emulate: 7.0, 8.0, 8.1, 8.5, 9.0, 9.1 or 9.2",
    },
    Variable { name: "SOFTACL_DEVICES", default: "2", meaning: "number of devices (1 to 64)" },
    Variable {
        name: "SOFTACL_MEMORY",
        default: "the chip's",
        meaning: "memory per device, for example 64GiB; committed on first use",
    },
    Variable {
        name: "SOFTACL_HOST_MEMORY",
        default: "the host's",
        meaning: "limit on pinned host memory (aclrtMallocHost), for example 1GiB; \
                  also bounds the address space reserved for it",
    },
    Variable {
        name: "SOFTACL_SCHEDULE",
        default: "threads",
        meaning: "when queued tasks execute: threads, early, late, random:SEED, or (with the checker) \
                  replay:FILE, an order that `softacl check --explore` has found",
    },
    Variable {
        name: REPLAY_LOG,
        default: "",
        meaning: "directory for PID.log, the steps of a replayed order; `softacl check --explore` reads them",
    },
    Variable {
        name: PROGRESS_TIMEOUT,
        default: "250",
        meaning: "milliseconds without an API call after which the early, late and random schedules \
                  run ready tasks anyway",
    },
    Variable { name: PATIENCE, default: "", meaning: "deprecated: use SOFTACL_PROGRESS_TIMEOUT_MS" },
    Variable {
        name: "SOFTACL_STRICT",
        default: "",
        meaning: "`align`: reject asynchronous copies that are not aligned as the version documents (64 bytes up to \
                  8.5); `peer`: require peer access in both directions; or both, separated by a comma",
    },
    Variable {
        name: "SOFTACL_CHECK",
        default: "",
        meaning: "`1` enables the checker (see `softacl check`); the default schedule becomes late",
    },
    Variable {
        name: "SOFTACL_CHECK_DIR",
        default: "",
        meaning: "directory for PID.json reports; if set, nothing is printed and the exit code is unchanged",
    },
    Variable {
        name: "SOFTACL_ON_HANG",
        default: "end",
        meaning: "what the checker does with a program that provably hangs: `end` ends it with exit code 2, `wait` \
                  lets it hang",
    },
    Variable {
        name: "SOFTACL_FAULTS",
        default: "",
        meaning: "fault-injection rules such as aclrtMalloc@3=207001, or @FILE; see docs/faults.md",
    },
    Variable {
        name: KERNELS,
        default: "",
        meaning: "libraries with CPU versions of kernels (softacl/kernel.h), separated by colons",
    },
    Variable {
        name: timing::TIMING,
        default: "",
        meaning: "`1` runs the program on a virtual clock with the figures of the chip (docs/timing.md): event times, \
                  timeouts and queries are those of the model; with `report`, only the log is",
    },
    Variable {
        name: timing::TIMING_LOG,
        default: "",
        meaning: "file for the log of the virtual clock, which `softacl run --timing` reads; %p is replaced by the \
                  process id",
    },
    Variable {
        name: timing::TIMING_FIGURES,
        default: "the chip's",
        meaning: "file of timing figures, for example one that `softacl calibrate` wrote",
    },
    Variable {
        name: timing::KERNEL_TIMES,
        default: "",
        meaning: "times of kernels on the virtual clock, such as decode=350us,*=x0.1 (a tenth of the time here)",
    },
    Variable {
        name: timing::HOST_SCALE,
        default: "0",
        meaning: "factor for the time that the program takes between calls, on the virtual clock",
    },
    Variable {
        name: "SOFTACL_TRACE",
        default: "",
        meaning: "trace file (see `softacl trace`); %p is replaced by the process id",
    },
    Variable {
        name: "SOFTACL_TRACE_LIMIT",
        default: "16777216",
        meaning: "maximum number of trace events (32 bytes each; a copy produces three)",
    },
    Variable {
        name: "SOFTACL_TRACE_DURATION_MS",
        default: "",
        meaning: "milliseconds after which a process stops recording its trace; the program continues",
    },
    Variable {
        name: "SOFTACL_TRACE_RANGES",
        default: "",
        meaning: "`1` records only between softaclTraceRangeBegin and softaclTraceRangeEnd",
    },
    Variable {
        name: "SOFTACL_CONFIG",
        default: "softacl.toml",
        meaning: "settings file of the softacl command, instead of that of the project and the user; `none` for no file",
    },
    Variable { name: "SOFTACL_LOG", default: "", meaning: "`1` logs every failing call to stderr, with the reason" },
    Variable {
        name: "SOFTACL_LOG_FILE",
        default: "",
        meaning: "file to which failing calls are logged instead; every process of a program appends to it",
    },
    Variable {
        name: "ASCEND_RT_VISIBLE_DEVICES",
        default: "all",
        meaning: "devices visible to the program, in order, for example 1,0",
    },
];

/// True if the checker ends a program that provably hangs.
pub(crate) fn ends_hangs() -> bool {
    var("SOFTACL_ON_HANG").as_deref() != Some("wait")
}

/// Builds the configuration. The error text names the variable.
pub fn from_environment() -> Result<Config, String> {
    let profile = profile(var("SOFTACL_SOC").as_deref(), var("SOFTACL_FORM").as_deref())
        .map_err(|e| format!("SOFTACL_SOC or SOFTACL_FORM: {e}"))?;
    let cann = cann(var("SOFTACL_CANN").as_deref()).map_err(|e| format!("SOFTACL_CANN: {e}"))?;
    let count = device_count()?;
    let memory = size("SOFTACL_MEMORY")?.unwrap_or((profile.chip.memory_gib as usize) << 30);
    let clock = timing::from_environment(&profile, var)?;
    let schedule = match var("SOFTACL_SCHEDULE") {
        given if clock.is_some() => match given {
            None => Schedule::Timed,
            Some(_) => {
                return Err("SOFTACL_TIMING and SOFTACL_SCHEDULE are both set; the clock is a schedule".to_owned());
            }
        },
        None if is_checker_enabled() => Schedule::Late,
        None => Schedule::Threads,
        Some(text) => text.parse().map_err(|e| format!("SOFTACL_SCHEDULE: {e}"))?,
    };
    let replay = match schedule {
        Schedule::Replay => Some(replay(&var("SOFTACL_SCHEDULE").unwrap_or_default())?),
        _ => None,
    };
    let strict = var("SOFTACL_STRICT").map_or(Ok(Strict::default()), |text| strict(&text));
    let strict = strict.map_err(|why| format!("SOFTACL_STRICT: {why}"))?;
    if strict.align && cann.copy_alignment == 1 {
        eprintln!(
            "softacl: SOFTACL_STRICT=align has no effect: CANN {} documents no alignment; SOFTACL_CANN=8.5 does",
            cann.version
        );
    }
    if is_checker_enabled() && clock.is_some() {
        return Err("SOFTACL_CHECK and SOFTACL_TIMING are both set; a process is either checked or timed".to_owned());
    }
    if is_checker_enabled() && trace_file().is_some() {
        return Err("SOFTACL_CHECK and SOFTACL_TRACE are both set; a process is either checked or traced".to_owned());
    }
    let list = var("ASCEND_RT_VISIBLE_DEVICES");
    let devices = visible(list.as_deref(), count);
    let _ = SELECTION.set(list.and_then(|list| selection(&list, devices.len(), count)));
    Ok(Config {
        profile,
        cann,
        memory,
        host_memory: size("SOFTACL_HOST_MEMORY")?,
        schedule,
        replay,
        timing: clock,
        progress_timeout: progress_timeout()?,
        strict_alignment: strict.align,
        strict_peer: strict.peer,
        injection: faults::install(var("SOFTACL_FAULTS").as_deref(), devices.len())?,
        devices,
        ..Config::default()
    })
}

/// Reads the order of a replayed schedule, and opens its log.
fn replay(schedule: &str) -> Result<Arc<Replay>, String> {
    if !is_checker_enabled() {
        return Err("SOFTACL_SCHEDULE: replay:FILE needs the checker; use `softacl check`".to_owned());
    }
    let path = schedule.strip_prefix("replay:").unwrap_or_default();
    let text = fs::read_to_string(path).map_err(|error| format!("SOFTACL_SCHEDULE: {path}: {error}"))?;
    let order = text.parse().map_err(|error| format!("SOFTACL_SCHEDULE: {path}: {error}"))?;
    let open = |directory: String| {
        let path = PathBuf::from(directory).join(format!("{}.log", std::process::id()));
        let file = fs::File::create(&path).map_err(|error| format!("{REPLAY_LOG}: {}: {error}", path.display()))?;
        Ok::<_, String>(Mutex::new(Box::new(file) as Box<dyn Write + Send>))
    };
    // SAFETY: ends the process without running code of the program.
    let on_redundant = || unsafe { libc::_exit(0) };
    Ok(Arc::new(Replay { order, log: var(REPLAY_LOG).map(open).transpose()?, on_redundant }))
}

/// The rules that strict mode enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strict {
    pub align: bool,
    pub peer: bool,
}

/// Parses a list of rules, such as `align,peer`. The error names the one that is not known.
pub fn strict(text: &str) -> Result<Strict, String> {
    let mut rules = Strict::default();
    for name in text.split(',') {
        match name.trim() {
            "align" => rules.align = true,
            "peer" => rules.peer = true,
            other => return Err(format!("{other:?} is not known; known: align, peer")),
        }
    }
    Ok(rules)
}

/// Reads the timeout of the stepped schedules, under its new or its former name.
fn progress_timeout() -> Result<Duration, String> {
    let (name, text) = match (var(PROGRESS_TIMEOUT), var(PATIENCE)) {
        (Some(text), _) => (PROGRESS_TIMEOUT, text),
        (None, Some(text)) => {
            eprintln!("softacl: {PATIENCE} is deprecated; use {PROGRESS_TIMEOUT}");
            (PATIENCE, text)
        }
        (None, None) => return Ok(Duration::from_millis(250)),
    };
    match text.parse() {
        Ok(ms @ 1..=3_600_000) => Ok(Duration::from_millis(ms)),
        _ => Err(format!("{name}: {text:?} is not a number of milliseconds from 1 to 3600000")),
    }
}

/// Reads the size in a variable. `None` if the variable is not set.
fn size(name: &str) -> Result<Option<usize>, String> {
    let wrong = |text: &str| format!("{name}: {text:?} is not a size from 2MiB to 1024GiB, for example 64GiB");
    var(name).map(|text| memory_size(&text).ok_or_else(|| wrong(&text))).transpose()
}

/// Returns the number of devices, including those that are not visible to the program.
pub fn device_count() -> Result<u32, String> {
    match var("SOFTACL_DEVICES") {
        None => Ok(2),
        Some(text) => match text.parse() {
            Ok(count @ 1..=64) => Ok(count),
            _ => Err(format!("SOFTACL_DEVICES: {text:?} is not a number from 1 to 64")),
        },
    }
}

/// Returns `true` if the environment enables the checker.
pub(crate) fn is_checker_enabled() -> bool {
    var("SOFTACL_CHECK").is_some_and(|value| value != "0")
}

/// Returns the directory for the reports of the checker.
pub(crate) fn check_directory() -> Option<PathBuf> {
    var("SOFTACL_CHECK_DIR").map(PathBuf::from)
}

/// True if the environment enables the virtual clock.
pub(crate) fn is_timed() -> bool {
    var(timing::TIMING).is_some_and(|value| value != "0")
}

/// Returns the trace file, as given.
pub(crate) fn trace_file() -> Option<String> {
    var("SOFTACL_TRACE")
}

/// Returns the maximum number of trace events.
pub(crate) fn trace_limit() -> Result<u64, String> {
    let wrong = |text: &str| format!("SOFTACL_TRACE_LIMIT: {text:?} is not a number from 1 to 1000000000");
    let Some(text) = var("SOFTACL_TRACE_LIMIT") else { return Ok(softacl_tracer::DEFAULT_EVENT_LIMIT) };
    text.parse().ok().filter(|limit| (1..=1_000_000_000).contains(limit)).ok_or_else(|| wrong(&text))
}

/// Returns how long the process records its trace. `None` for as long as it runs.
pub(crate) fn trace_duration() -> Result<Option<Duration>, String> {
    const NAME: &str = "SOFTACL_TRACE_DURATION_MS";
    let Some(text) = var(NAME) else { return Ok(None) };
    match text.parse() {
        Ok(ms @ 1..=86_400_000) => Ok(Some(Duration::from_millis(ms))),
        _ => Err(format!("{NAME}: {text:?} is not a number of milliseconds from 1 to 86400000")),
    }
}

/// True if a trace records only what happens in ranges of the program.
pub(crate) fn traces_ranges_only() -> bool {
    var("SOFTACL_TRACE_RANGES").is_some_and(|value| value != "0")
}

/// Returns the libraries with CPU versions of kernels.
pub(crate) fn kernel_libraries() -> Vec<String> {
    let text = var(KERNELS).unwrap_or_default();
    text.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// Returns `true` if failing calls are logged.
pub(crate) fn logs_failures() -> bool {
    log_file().is_some() || var("SOFTACL_LOG").is_some_and(|value| value != "0")
}

/// Returns the file to which failing calls are logged.
pub(crate) fn log_file() -> Option<String> {
    var("SOFTACL_LOG_FILE")
}

/// Returns a variable if it is set and not empty.
fn var(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the devices that the list names. As with the variables of other vendors, the list ends before the first
/// entry that is not a device.
fn visible(list: Option<&str>, count: u32) -> Vec<u32> {
    let Some(list) = list else { return (0..count).collect() };
    let mut devices = Vec::new();
    for entry in list.split(',') {
        match entry.trim().parse() {
            Ok(device) if device < count && !devices.contains(&device) => devices.push(device),
            _ => break,
        }
    }
    devices
}

/// Description of the list of visible devices, if it hides any.
static SELECTION: OnceLock<Option<String>> = OnceLock::new();

/// Returns why some devices are hidden. `None` if none are.
pub(crate) fn hidden_devices() -> Option<&'static str> {
    SELECTION.get()?.as_deref()
}

fn selection(list: &str, visible: usize, count: u32) -> Option<String> {
    let of = if count == 1 { "1 device (0)".to_owned() } else { format!("{count} devices (0 to {})", count - 1) };
    let shown = if visible == 0 { "none".to_owned() } else { visible.to_string() };
    (visible < count as usize).then(|| format!("ASCEND_RT_VISIBLE_DEVICES={list} shows {shown} of {of}"))
}

/// Parses a size of device memory, such as 64GiB or 64GB, which mean the same.
pub fn memory_size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => 0,
        // A device with 64 GB of memory has 64 GiB: vendors count in powers of two.
        unit => match unit.to_ascii_lowercase().as_str() {
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return None,
        },
    };
    let size =
        digits.parse::<usize>().ok()?.checked_shl(unit).filter(|size| size >> unit == digits.parse().unwrap_or(0))?;
    (2 << 20..=1024 << 30).contains(&size).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_with_units_and_reject_values_out_of_range() {
        assert_eq!(memory_size("64GiB"), Some(64 << 30));
        assert_eq!(memory_size("512 MiB"), Some(512 << 20));
        assert_eq!(memory_size("4194304"), Some(4 << 20));
        assert_eq!(memory_size("1TB"), Some(1 << 40));
        for wrong in ["", "0", "1KiB", "GiB", "-1GiB", "2000GiB", "18446744073709551615GiB", "2TB", "1PB"] {
            assert_eq!(memory_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn strict_rules_are_a_list() {
        assert_eq!(strict("align"), Ok(Strict { align: true, peer: false }));
        assert_eq!(strict("peer, align"), Ok(Strict { align: true, peer: true }));
        assert!(strict("align,").unwrap_err().contains("known: align, peer"));
    }

    #[test]
    fn list_of_visible_devices_ends_at_first_invalid_entry() {
        assert_eq!(visible(None, 3), [0, 1, 2]);
        assert_eq!(visible(Some("2,0"), 3), [2, 0]);
        assert_eq!(visible(Some("1,7,0"), 3), [1]);
        assert_eq!(visible(Some("1,1"), 3), [1]);
        assert_eq!(visible(Some("-1"), 3), [0; 0]);
    }

    #[test]
    fn hidden_devices_are_explained_by_the_list() {
        let explanation = |list, count| selection(list, visible(Some(list), count).len(), count);
        assert_eq!(explanation("7", 2).unwrap(), "ASCEND_RT_VISIBLE_DEVICES=7 shows none of 2 devices (0 to 1)");
        assert_eq!(explanation("1,7", 8).unwrap(), "ASCEND_RT_VISIBLE_DEVICES=1,7 shows 2 of 8 devices (0 to 7)");
        assert_eq!(explanation("3", 1).unwrap(), "ASCEND_RT_VISIBLE_DEVICES=3 shows none of 1 device (0)");
        assert_eq!(explanation("1,0", 2), None);
    }
}
