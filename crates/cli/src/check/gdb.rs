//! Runs the program in gdb.
//!
//! The checker handles SIGSEGV (accesses to protected pages) in the program. gdb must pass it on without stopping. The
//! traps of single steps cannot be shared with gdb, which uses them for its breakpoints; the checker takes no steps in a
//! program that is being debugged. The variables of softacl are set for the program only: gdb itself must not load the
//! interposer.

use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Returns a command that starts gdb with the program, its arguments and its environment.
pub fn wrap(program: &Command) -> Result<Command> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "--return-child-result"]);
    // Without a shell, which would load the interposer too and see the arguments again.
    for line in ["handle SIGSEGV nostop noprint pass", "set startup-with-shell off"] {
        gdb.args(["-iex", line]);
    }
    for (name, value) in program.get_envs() {
        gdb.arg("-iex").arg(environment(name, value)?);
    }
    gdb.arg("--args").arg(program.get_program()).args(program.get_args());
    Ok(gdb)
}

/// The line of gdb that sets or removes a variable of the program.
fn environment(name: &OsStr, value: Option<&OsStr>) -> Result<OsString> {
    let mut line = OsString::from(if value.is_some() { "set environment " } else { "unset environment " });
    line.push(name);
    if let Some(value) = value {
        // A line of gdb ends at a line break.
        let is_one_line = !value.as_encoded_bytes().contains(&b'\n');
        is_one_line.then_some(()).with_context(|| format!("--gdb: {} contains a line break", name.display()))?;
        line.push("=");
        line.push(value);
    }
    Ok(line)
}
