//! The interposer: an embedded library that the checked program loads before all others.

use anyhow::{Context, Result};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libsoftacl_interposer.so"));

/// Adds the interposer to LD_PRELOAD. The directory must exist as long as the program runs.
pub fn preload(command: &mut Command, directory: &Path) -> Result<()> {
    let path = directory.join("libsoftacl_interposer.so");
    fs::write(&path, LIBRARY).with_context(|| format!("could not write {}", path.display()))?;
    let mut preload = OsString::from(&path);
    // Sanitizers must be first.
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload = [others, OsString::from(":"), preload].into_iter().collect();
    }
    command.env("LD_PRELOAD", preload);
    // AddressSanitizer rejects any library before it. The interposer forwards every call, so the check can be disabled.
    let mut options = env::var_os("ASAN_OPTIONS").filter(|options| !options.is_empty()).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    command.env("ASAN_OPTIONS", options);
    Ok(())
}
