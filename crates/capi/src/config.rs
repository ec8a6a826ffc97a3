//! The configuration of the process, from its environment. Read once, at first use, so that a
//! program may set the variables itself after it has loaded the library.

use softacl_engine::{Config, Schedule};
use softacl_profiles::{cann, profile};
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// One environment variable, for `softacl env`.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

/// Every variable that softacl reads.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "SOFTACL_SOC",
        default: "Ascend910B",
        meaning: "the chip: a family (see `softacl chips`) or a full name such as Ascend910B3",
    },
    Variable {
        name: "SOFTACL_FORM",
        default: "EP",
        meaning: "how the chip is attached: EP (a host drives it) or RC (the program runs on it)",
    },
    Variable {
        name: "SOFTACL_CANN",
        default: "9.2.0",
        meaning: "the CANN version whose behaviour is reproduced: 7.0, 8.0, 8.5, 9.0, 9.1 or 9.2",
    },
    Variable { name: "SOFTACL_DEVICES", default: "2", meaning: "number of devices, 1 to 64" },
    Variable {
        name: "SOFTACL_MEMORY",
        default: "that of the chip",
        meaning: "memory of each device, such as 64GiB or 512MiB; it is virtual and costs nothing until touched",
    },
    Variable {
        name: "SOFTACL_HOST_MEMORY",
        default: "that of the machine",
        meaning: "pinned host memory (aclrtMallocHost) at most, such as 1GiB; also how many addresses are set aside for it",
    },
    Variable {
        name: "SOFTACL_SCHEDULE",
        default: "threads",
        meaning: "when queued work runs: threads, early, late, or random:SEED",
    },
    Variable {
        name: "SOFTACL_PATIENCE",
        default: "250",
        meaning: "milliseconds without a call after which early, late and random schedules run what is ready all the same",
    },
    Variable {
        name: "SOFTACL_STRICT",
        default: "",
        meaning: "`align` makes the documented 64-byte alignment of asynchronous copies an error",
    },
    Variable {
        name: "SOFTACL_CHECK",
        default: "",
        meaning: "`1` checks the program for misuse of asynchronous copies, as `softacl check` does; the schedule is then `late` if none is chosen",
    },
    Variable {
        name: "SOFTACL_CHECK_DIR",
        default: "",
        meaning: "where the checker writes PID.json instead of printing its report and ending the process with code 2",
    },
    Variable {
        name: "SOFTACL_FAULTS",
        default: "",
        meaning: "faults on purpose: rules such as aclrtMalloc@3=207001, or @FILE; see docs/faults.md",
    },
    Variable {
        name: "SOFTACL_TRACE",
        default: "",
        meaning: "a file for the timeline of the program, as `softacl trace` draws it; %p in its name stands for the process",
    },
    Variable {
        name: "SOFTACL_TRACE_LIMIT",
        default: "4000000",
        meaning: "facts that a trace keeps at most, 64 bytes each while the program runs; a copy has six",
    },
    Variable {
        name: "SOFTACL_LOG",
        default: "",
        meaning: "`1` tells every failing call on standard error, with the reason",
    },
    Variable {
        name: "ASCEND_RT_VISIBLE_DEVICES",
        default: "all",
        meaning: "which devices the program sees and in which order, such as 1,0",
    },
];

/// Builds the configuration; the error is a sentence that names the variable.
pub fn from_environment() -> Result<Config, String> {
    let profile = profile(var("SOFTACL_SOC").as_deref(), var("SOFTACL_FORM").as_deref())
        .map_err(|e| format!("SOFTACL_SOC or SOFTACL_FORM: {e}"))?;
    let cann = cann(var("SOFTACL_CANN").as_deref()).map_err(|e| format!("SOFTACL_CANN: {e}"))?;
    let count = device_count()?;
    let memory = size("SOFTACL_MEMORY")?.unwrap_or((profile.chip.memory_gib as usize) << 30);
    let schedule = match var("SOFTACL_SCHEDULE") {
        None if is_checker_enabled() => Schedule::Late,
        None => Schedule::Threads,
        Some(text) => text.parse().map_err(|e| format!("SOFTACL_SCHEDULE: {e}"))?,
    };
    let patience = match var("SOFTACL_PATIENCE") {
        None => Duration::from_millis(250),
        Some(text) => match text.parse() {
            Ok(ms @ 1..=3_600_000) => Duration::from_millis(ms),
            _ => return Err(format!("SOFTACL_PATIENCE: {text:?} is not a number of milliseconds from 1 to 3600000")),
        },
    };
    let strict_alignment = match var("SOFTACL_STRICT").as_deref() {
        None => false,
        Some("align") => true,
        Some(other) => return Err(format!("SOFTACL_STRICT: {other:?} is not known; known: align")),
    };
    if is_checker_enabled() && trace_file().is_some() {
        return Err("SOFTACL_CHECK and SOFTACL_TRACE are both set: a run is checked or traced".to_owned());
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
        progress_timeout: patience,
        strict_alignment,
        injection: crate::faults::from_environment(devices.len())?,
        devices,
        ..Config::default()
    })
}

/// The size that a variable says, if it says one.
fn size(name: &str) -> Result<Option<usize>, String> {
    let wrong = |text: &str| format!("{name}: {text:?} is not a size from 2MiB to 1024GiB, such as 64GiB or 512MiB");
    var(name).map(|text| memory_size(&text).ok_or_else(|| wrong(&text))).transpose()
}

/// The devices that there are, visible to the program or not.
pub fn device_count() -> Result<u32, String> {
    match var("SOFTACL_DEVICES") {
        None => Ok(2),
        Some(text) => match text.parse() {
            Ok(count @ 1..=64) => Ok(count),
            _ => Err(format!("SOFTACL_DEVICES: {text:?} is not a number from 1 to 64")),
        },
    }
}

/// Whether a checker is asked for.
pub(crate) fn is_checker_enabled() -> bool {
    var("SOFTACL_CHECK").is_some_and(|value| value != "0")
}

/// Where the checker writes its report.
pub(crate) fn check_directory() -> Option<PathBuf> {
    var("SOFTACL_CHECK_DIR").map(PathBuf::from)
}

/// Where the trace goes, as it was given.
pub(crate) fn trace_file() -> Option<String> {
    var("SOFTACL_TRACE")
}

/// How many facts a trace keeps.
pub(crate) fn trace_limit() -> Result<u64, String> {
    let wrong = |text: &str| format!("SOFTACL_TRACE_LIMIT: {text:?} is not a number from 1 to 1000000000");
    let Some(text) = var("SOFTACL_TRACE_LIMIT") else { return Ok(softacl_tracer::DEFAULT_EVENT_LIMIT) };
    text.parse().ok().filter(|limit| (1..=1_000_000_000).contains(limit)).ok_or_else(|| wrong(&text))
}

/// The fault rules, as they were given.
pub(crate) fn fault_rules() -> Option<String> {
    var("SOFTACL_FAULTS")
}

/// Whether failing calls are told on standard error.
pub(crate) fn logs_failures() -> bool {
    var("SOFTACL_LOG").is_some_and(|value| value != "0")
}

/// A variable that is set and not empty.
fn var(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The devices that the list names. As with other vendors' variables, the list ends before the first
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

/// What the list hides, if it hides anything.
static SELECTION: OnceLock<Option<String>> = OnceLock::new();

/// Why the program sees fewer devices than there are, if it does.
pub(crate) fn hidden_devices() -> Option<&'static str> {
    SELECTION.get()?.as_deref()
}

fn selection(list: &str, visible: usize, count: u32) -> Option<String> {
    let of = if count == 1 { "1 device (0)".to_owned() } else { format!("{count} devices (0 to {})", count - 1) };
    let shown = if visible == 0 { "none".to_owned() } else { visible.to_string() };
    (visible < count as usize).then(|| format!("ASCEND_RT_VISIBLE_DEVICES={list} shows {shown} of {of}"))
}

/// Reads a size of device memory, such as 64GiB.
pub fn memory_size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => 0,
        "K" | "KiB" | "k" => 10,
        "M" | "MiB" | "m" => 20,
        "G" | "GiB" | "g" => 30,
        "T" | "TiB" | "t" => 40,
        _ => return None,
    };
    let size =
        digits.parse::<usize>().ok()?.checked_shl(unit).filter(|size| size >> unit == digits.parse().unwrap_or(0))?;
    (2 << 20..=1024 << 30).contains(&size).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(memory_size("64GiB"), Some(64 << 30));
        assert_eq!(memory_size("512 MiB"), Some(512 << 20));
        assert_eq!(memory_size("4194304"), Some(4 << 20));
        for wrong in ["", "0", "1KiB", "GiB", "-1GiB", "2000GiB", "18446744073709551615GiB", "1TB"] {
            assert_eq!(memory_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_list_of_visible_devices_ends_at_the_first_wrong_entry() {
        assert_eq!(visible(None, 3), [0, 1, 2]);
        assert_eq!(visible(Some("2,0"), 3), [2, 0]);
        assert_eq!(visible(Some("1,7,0"), 3), [1]);
        assert_eq!(visible(Some("1,1"), 3), [1]);
        assert_eq!(visible(Some("-1"), 3), [0; 0]);
    }

    #[test]
    fn what_hides_devices_is_named() {
        let told = |list, count| selection(list, visible(Some(list), count).len(), count);
        assert_eq!(told("7", 2).unwrap(), "ASCEND_RT_VISIBLE_DEVICES=7 shows none of 2 devices (0 to 1)");
        assert_eq!(told("1,7", 8).unwrap(), "ASCEND_RT_VISIBLE_DEVICES=1,7 shows 2 of 8 devices (0 to 7)");
        assert_eq!(told("3", 1).unwrap(), "ASCEND_RT_VISIBLE_DEVICES=3 shows none of 1 device (0)");
        assert_eq!(told("1,0", 2), None);
    }
}
