//! The project's own commands: everything a newcomer or CI has to run, with nothing to set up by hand.

mod browser;
mod conformance;
mod examples;
mod failpoints;
mod install;
mod python;
mod support;
mod test;
mod tree;
mod zoo;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Test, install and document softacl")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all tests: formatting, lints, units, model, loom, headers, conformance (plain, ASan, TSan), soak
    Test {
        /// Only the steps whose name contains this
        #[arg(long)]
        only: Option<String>,
    },
    /// Install a CANN-like tree: include, lib64, bin, set_env.sh, pkg-config and CMake files
    Install {
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
    },
    /// Run the C and C++ conformance programs
    Conformance {
        /// Only programs whose topic/name contains this
        #[arg(long)]
        filter: Option<String>,
        /// Only this product
        #[arg(long)]
        soc: Option<String>,
        /// Run the programs under the checker, on early, late and this many random schedules
        #[arg(long, value_name = "SEEDS", num_args = 0..=1, default_missing_value = "20")]
        checked: Option<u64>,
        /// Build the programs with a sanitizer: address or thread
        #[arg(long)]
        sanitizer: Option<String>,
        /// Test the libascendcl.so in this directory on a machine with a card, instead of softacl
        #[arg(long, value_name = "DIR")]
        library: Option<PathBuf>,
    },
    /// Fail every call and every request to the system, one at a time, in the demo and the conformance programs
    Failpoints {
        /// Only programs whose topic/name contains this (the demo is demo/demo)
        #[arg(long)]
        filter: Option<String>,
        /// Only these points: call, mmap, memfd, mprotect, thread, buffer
        #[arg(long, value_delimiter = ',')]
        points: Vec<String>,
        /// At most so many points of each kind and program, spread evenly
        #[arg(long, default_value_t = 400)]
        most: u64,
    },
    /// Build the Python wheel into a directory
    Wheel {
        #[arg(long, value_name = "DIR", default_value = "target/wheels")]
        output: PathBuf,
    },
    /// Random traffic on 8 threads and 200 streams, every byte verified
    Soak {
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Write docs/support.md from the function manifest
    Support {
        /// Only say whether the file is up to date
        #[arg(long)]
        check: bool,
    },
    /// Run the zoo: every bug must be found, every fixed twin left in peace
    Zoo {
        /// Only cases whose name contains this
        #[arg(long)]
        filter: Option<String>,
        /// Look only at what the programs do
        #[arg(long)]
        without_checker: bool,
        /// How many seeds the fixed programs run on
        #[arg(long, default_value_t = 50)]
        seeds: u32,
        /// Write docs/zoo.md instead
        #[arg(long)]
        table: bool,
        /// With --table: only say whether the file is up to date
        #[arg(long, requires = "table")]
        check: bool,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Test { only } => test::all(only.as_deref()),
        Command::Install { prefix } => install::install(&prefix),
        Command::Conformance { filter, soc, checked, sanitizer, library } => {
            let sanitizer = match sanitizer.as_deref() {
                None => None,
                Some("address") => Some(conformance::Sanitizer::Address),
                Some("thread") => Some(conformance::Sanitizer::Thread),
                Some(other) => anyhow::bail!("--sanitizer: {other:?} is neither address nor thread"),
            };
            let real_hardware = library.is_some();
            let library_dir = match library {
                Some(directory) => directory,
                None => tree::build_library()?,
            };
            let options = conformance::Options {
                filter,
                soc,
                checked,
                sanitizer,
                real_hardware,
                ..tree::conformance_options(library_dir)
            };
            let summary = conformance::run(&options)?;
            ensure!(summary.failed == 0, "{} conformance runs failed", summary.failed);
            Ok(())
        }
        Command::Failpoints { filter, points, most } => {
            failpoints::run(&failpoints::Options { filter: filter.as_deref(), points: &points, most })
        }
        Command::Wheel { output } => python::wheel(&output).map(|wheel| println!("built {}", wheel.display())),
        Command::Soak { seconds } => test::soak(seconds),
        Command::Support { check } => support::write(check),
        Command::Zoo { table: true, check, .. } => zoo::table(check),
        Command::Zoo { filter, without_checker, seeds, .. } => {
            zoo::run(&zoo::Options { filter, checker: !without_checker, seeds })
        }
    }
}
