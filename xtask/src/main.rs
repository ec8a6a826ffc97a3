//! The project's own commands: everything a newcomer or CI has to run, with nothing to set up by hand.

mod browser;
mod conformance;
mod examples;
mod failpoints;
mod fuzzing;
mod install;
mod miri;
mod python;
mod support;
mod test;
mod torch;
mod workspace;
mod zoo;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, Subcommand};
use fuzzing::Build;
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
        /// Run the programs under the tracer: every trace must hold together
        #[arg(long, conflicts_with = "checked")]
        traced: bool,
        /// Run the programs with a sanitizer: address, thread, undefined or valgrind
        #[arg(long)]
        sanitizer: Option<String>,
        /// Test the libascendcl.so in this directory on a machine with a card, instead of softacl
        #[arg(long, value_name = "DIR")]
        library: Option<PathBuf>,
        /// Build for another target, as aarch64-unknown-linux-gnu, and run with cargo's runner for it
        #[arg(long, value_name = "TRIPLE", conflicts_with = "library")]
        target: Option<String>,
    },
    /// Fail every call and every request to the system, one at a time, in the demo and the conformance programs
    Failpoints {
        /// Only programs whose topic/name contains this (the demo is demo/demo)
        #[arg(long)]
        filter: Option<String>,
        /// Only these points: call, mmap, memfd, mprotect, thread, buffer
        #[arg(long, value_delimiter = ',')]
        points: Vec<String>,
        /// At most so many points of each function, and of each other kind, in each program: first, last, and spread between
        #[arg(long, default_value_t = 400)]
        most: u64,
        /// Only a part of the points, spread evenly: 2/5 is the second of five
        #[arg(long, default_value = "1/1")]
        part: String,
    },
    /// Run what Miri can run: the safe crate on a fake library, handles, lanes, rules, routines and books; takes a nightly toolchain
    Miri,
    /// Run the PyTorch suite on the unmodified torch_npu; downloads about 3 GB the first time
    TestTorch,
    /// Build the Python wheel into a directory
    Wheel {
        #[arg(long, value_name = "DIR", default_value = "target/wheels")]
        output: PathBuf,
    },
    /// Random traffic on 8 threads and 200 streams, every byte verified
    Soak {
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// So long instead; memory and latency must then stay flat, and a table tells how they did
        #[arg(long)]
        hours: Option<f64>,
        /// Build everything with a sanitizer: address takes a nightly toolchain, thread the source of the standard
        /// library (see docs/reliability.md)
        #[arg(long)]
        sanitizer: Option<String>,
    },
    /// Fuzz the C interface and everything that reads text from outside
    Fuzz {
        /// How long, in all
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// What the inputs are drawn from; the same seed draws the same ones
        #[arg(long)]
        seed: Option<u64>,
        /// Only this: c-interface, sequences, json, profiles, suppressions, report, trace, faults or environment
        #[arg(long)]
        target: Option<String>,
        /// Build everything with a sanitizer: address takes a nightly toolchain, thread the source of the standard
        /// library (see docs/reliability.md)
        #[arg(long)]
        sanitizer: Option<String>,
    },
    /// Random programs with several threads, devices and chips, against the reference model
    Simulate {
        /// How long
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// The first seed
        #[arg(long)]
        seed: Option<u64>,
        /// Build everything with a sanitizer: address takes a nightly toolchain, thread the source of the standard
        /// library (see docs/reliability.md)
        #[arg(long)]
        sanitizer: Option<String>,
    },
    /// Run random programs on the engine in many orders of all steps of its threads, under shuttle
    Schedules {
        /// Programs
        #[arg(long, default_value_t = 1000)]
        scenarios: u64,
        /// Orders of each, drawn in two ways
        #[arg(long, default_value_t = 25)]
        orders: u64,
        /// The first seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Write docs/support.md from the function manifest
    Support {
        /// Only say whether the file is up to date
        #[arg(long)]
        check: bool,
    },
    /// Run the examples and the demo under the checker: nothing may be proven but what they do wrong on purpose
    Examples {
        /// How many random schedules each program runs on, besides early and late
        #[arg(long, default_value_t = 20)]
        seeds: u32,
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
        /// Run only the fixed programs, with a sanitizer: address, thread, undefined or valgrind
        #[arg(long)]
        sanitizer: Option<String>,
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
        Command::Conformance { filter, soc, checked, traced, sanitizer, library, target } => {
            let observer =
                checked.map(conformance::Observer::Checker).or(traced.then_some(conformance::Observer::Tracer));
            let sanitizer = of_programs(sanitizer)?;
            let real_hardware = library.is_some();
            let library_dir = match library {
                Some(directory) => directory,
                None => workspace::build_library_for(target.as_deref())?,
            };
            let places = workspace::conformance_options(library_dir);
            let build_dir = places.build_dir.join(target.as_deref().unwrap_or_default());
            let options =
                conformance::Options { filter, soc, observer, sanitizer, real_hardware, target, build_dir, ..places };
            let summary = conformance::run(&options)?;
            ensure!(summary.failed == 0, "{} conformance runs failed", summary.failed);
            Ok(())
        }
        Command::Failpoints { filter, points, most, part } => {
            let part = failpoints::part(&part)?;
            failpoints::run(&failpoints::Options { filter: filter.as_deref(), points: &points, max_points: most, part })
        }
        Command::Miri => miri::run(),
        Command::TestTorch => torch::test(),
        Command::Wheel { output } => python::wheel(&output).map(|wheel| println!("built {}", wheel.display())),
        Command::Soak { seconds, hours, sanitizer } => {
            let seconds = hours.map_or(seconds, |hours| (hours * 3600.0) as u32);
            match Build::of(sanitizer.as_deref())? {
                Build::Plain => test::soak(seconds),
                build => fuzzing::soak_with_sanitizer(seconds, build),
            }
        }
        Command::Fuzz { minutes, seed, target, sanitizer } => {
            let build = Build::of(sanitizer.as_deref())?;
            fuzzing::fuzz(target.as_deref(), minutes * 60, seed.unwrap_or_else(seed_from_clock), build)
        }
        Command::Simulate { minutes, seed, sanitizer } => {
            fuzzing::simulate(minutes * 60, seed.unwrap_or_else(seed_from_clock), Build::of(sanitizer.as_deref())?)
        }
        Command::Schedules { scenarios, orders, seed } => fuzzing::schedules(scenarios, orders, seed),
        Command::Examples { seeds } => examples::check(seeds),
        Command::Support { check } => support::write(check),
        Command::Zoo { table: true, check, .. } => zoo::table(check),
        Command::Zoo { filter, without_checker, seeds, sanitizer, .. } => {
            let sanitizer = of_programs(sanitizer)?;
            zoo::run(&zoo::Options { filter, checker: !without_checker && sanitizer.is_none(), seeds, sanitizer })
        }
    }
}

/// A seed that is another one every time; it is printed with the result.
fn seed_from_clock() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_secs() * 1_000_000)
}

/// The sanitizer of programs in C and C++.
fn of_programs(sanitizer: Option<String>) -> Result<Option<conformance::Sanitizer>> {
    let Some(given) = sanitizer else { return Ok(None) };
    let all = conformance::Sanitizer::ALL;
    let known = || all.map(conformance::Sanitizer::name).join(", ");
    let found = all.into_iter().find(|sanitizer| sanitizer.name() == given);
    found.map(Some).with_context(|| format!("--sanitizer: {given:?} is none of {}", known()))
}
