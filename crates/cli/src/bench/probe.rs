//! Probes: parts of the benchmark that run in a child process of this program. This module starts them; `child` runs
//! them.

use anyhow::{Context, Result};
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The probe of the processor time that idle streams consume.
pub const IDLE: &str = "idle";

/// Returns the path of this program, which child processes run, too.
pub fn this_program() -> Result<PathBuf> {
    env::current_exe().context("could not find the path of this program")
}

/// Adds the arguments that select a probe. `calls` is the number that the probe takes as its argument.
pub fn arguments(command: &mut Command, name: &str, calls: usize) {
    command.args(["bench", "--probe", name, "--calls", &calls.to_string()]);
}
