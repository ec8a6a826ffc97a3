//! Processes of a checked program, as far as they are known from outside.

use std::fs;
use std::path::Path;

/// The processes that have written to a report directory.
pub fn in_directory(directory: &Path) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let pid = |name: &std::ffi::OsStr| name.to_str()?.strip_suffix(".json")?.parse().ok();
    entries.filter_map(|entry| pid(&entry.file_name())).collect()
}

/// True if the process is still running. Zombies do not count.
pub fn is_running(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may contain any character.
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
