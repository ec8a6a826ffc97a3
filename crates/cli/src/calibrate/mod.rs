//! `softacl calibrate`: measures timing figures on any `libascendcl.so`, and compares two files of figures.
//!
//! On a card it measures the card. Everything is timed with events of the API, so on softacl with the virtual clock
//! (SOFTACL_TIMING=1) it finds the figures of the model.

mod bench;
mod compare;
mod measure;
mod memory;

use crate::output;
use crate::timing::figures;
use anyhow::{Context as _, Result};
use ascendcl::{Device, raw};
use clap::Args;
use softacl_profiles::Figures;
use std::io::Write as _;
use std::path::PathBuf;

/// Measure timing figures on a card, or compare two files of figures
///
/// Runs copy benchmarks against the libascendcl.so that ASCENDCL_LIBRARY or the loader finds, and writes a file for
/// --figures of `softacl run --timing` and `softacl what-if`. Intervals are the smallest and largest of the
/// repetitions.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// File for the figures (`-` for stdout)
    #[arg(long, short, value_name = "FILE", default_value = "figures.toml")]
    output: PathBuf,
    /// Device to measure
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Repetitions of every measurement
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Compare two files of figures and measure nothing
    #[arg(long, num_args = 2, value_names = ["FILE", "FILE"], conflicts_with_all = ["device", "repeat"])]
    compare: Option<Vec<PathBuf>>,
}

const EXAMPLES: &str = "\
Examples:
  softacl calibrate -o card.toml                               on a host with a card
  softacl run --timing --figures card.toml -- ./app            use what was measured
  softacl calibrate --compare card.toml other.toml             do two cards agree?
  SOFTACL_TIMING=1 softacl calibrate -o model.toml             the model, as a program sees it";

pub fn main(arguments: &Arguments) -> Result<()> {
    if let Some([one, other]) = arguments.compare.as_deref() {
        return output::print(compare::table(&figures(one)?, &figures(other)?)?);
    }
    let measured = measure(arguments)?;
    if output::is_stdout(&arguments.output) {
        return output::print(measured.to_toml());
    }
    let mut file = output::open(&arguments.output)?;
    let write_error = || format!("could not write {}", arguments.output.display());
    file.write_all(measured.to_toml().as_bytes()).with_context(write_error)?;
    for (name, figure) in measured.iter() {
        output::eprint_summary(format_args!("{:<22} {figure}", name.key()));
    }
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<Figures> {
    let origin = raw::loaded().context("no AscendCL library")?;
    let source = format!("softacl calibrate on {}, {origin}", Device::soc_name()?);
    measure::all(Device::new(arguments.device)?, arguments.repeat, &source)
}
