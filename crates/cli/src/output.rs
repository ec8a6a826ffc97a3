//! Standard output: what cannot be printed is an error that is told, not a panic.

use anyhow::{Context, Result};
use std::fmt::Display;
use std::io::{self, Write};

/// Prints text as it is.
pub fn print(text: impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).context("could not write to standard output")
}

/// Tells something beside the output. Nobody may be left to read it; the exit code still tells.
pub fn tell(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
