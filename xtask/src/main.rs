//! Project commands: everything a contributor or CI runs, without manual setup.
//!
//! This module defines the command line. Each command has its own module.

mod action;
mod architecture;
mod browser;
mod conformance;
mod crates;
mod deb;
mod documentation;
mod documents;
mod examples;
mod failpoints;
mod files;
mod fuzzing;
mod install;
mod install_check;
mod miri;
mod mutate;
mod operators;
mod parallel;
mod portable;
mod python;
mod python_tests;
mod release;
mod sample_layouts;
mod site;
mod support;
mod test;
mod tools;
mod torch;
mod vocabulary;
mod wheel;
mod wheel_check;
mod workspace;
mod zoo;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use fuzzing::Build;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Test, install and document softacl")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all tests: format, lints, architecture, unit tests, loom, shuttle, conformance, zoo, Python, fuzzing, soak
    Test(test::Options),
    /// Install a CANN-like tree: include, lib64, bin, share, set_env.sh, pkg-config and CMake files
    Install {
        /// Directory to install into
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
        /// Remove the files of an installation instead; other files in the directory stay
        #[arg(long)]
        uninstall: bool,
    },
    /// Run the C and C++ conformance programs
    Conformance(ConformanceArguments),
    /// Inject one failure per run, at every API call and system resource request of the demo and the conformance
    /// programs
    Failpoints {
        /// Run only programs whose topic/name contains this text (the demo is demo/demo)
        #[arg(long, value_name = "TEXT")]
        filter: Option<String>,
        /// Kinds of failure points: call, mmap, memfd, mprotect, thread, buffer [default: all]
        #[arg(long, value_name = "KINDS", value_delimiter = ',')]
        points: Vec<String>,
        /// Maximum number of failure points per function
        ///
        /// The limit applies to each function, and to each other kind of point, of each program. If there are more
        /// points, the first, the last and evenly spaced ones between them run.
        #[arg(long, value_name = "N", default_value_t = 400)]
        max_points: u64,
        /// Part of the points to run, spread evenly: 2/5 is the second of five parts
        #[arg(long, value_name = "I/N", default_value = "1/1")]
        part: String,
    },
    /// Run the tests that Miri supports; requires a nightly toolchain
    Miri,
    /// Run the PyTorch suite on the unmodified torch_npu; downloads about 3 GB the first time
    TestTorch {
        /// Run only the parts whose name contains TEXT: example, suite, checked, programs, segments, reuse, races,
        /// distributed, sweep
        #[arg(long, value_name = "TEXT")]
        filter: Option<String>,
    },
    /// Build the Python wheel, for this host
    Wheel {
        /// Directory to write the wheel into
        #[arg(long, value_name = "DIR", default_value = "target/wheels")]
        output: PathBuf,
        /// Build for every distribution with glibc 2.28 or newer, and check the wheel as for a release
        #[arg(long)]
        manylinux: bool,
    },
    /// Build and check the Debian package
    Deb {
        /// Directory to write the package into
        #[arg(long, value_name = "DIR", default_value = "target/packages")]
        output: PathBuf,
    },
    /// Build everything that is published (wheel, tarball, Debian package, crates), check it, and write checksums
    Release {
        /// Directory to write to; files in it are removed first
        #[arg(long, value_name = "DIR", default_value = "target/dist")]
        output: PathBuf,
        /// Leave the crates out, whose check builds everything once more
        #[arg(long)]
        skip_crates: bool,
    },
    /// Run random traffic on 8 threads and 200 streams and verify every byte
    Soak {
        /// Duration in seconds
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u32,
        /// Run for N hours and fail if memory or latency grows
        #[arg(long, value_name = "N")]
        hours: Option<f64>,
        #[command(flatten)]
        build: BuildArguments,
    },
    /// Fuzz the C API and every parser of external text
    Fuzz {
        /// Total duration in minutes
        #[arg(long, value_name = "N", default_value_t = 10)]
        minutes: u64,
        /// Seed of the generated inputs; equal seeds generate equal inputs [default: the time]
        #[arg(long)]
        seed: Option<u64>,
        /// Target: c-interface, sequences, json, profiles, suppressions, report, trace, faults or environment
        /// [default: all]
        #[arg(long)]
        target: Option<String>,
        #[command(flatten)]
        build: BuildArguments,
    },
    /// Run random programs with several threads, devices and chips against the reference model
    Simulate {
        /// Duration in minutes
        #[arg(long, value_name = "N", default_value_t = 10)]
        minutes: u64,
        /// First seed [default: the time]
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        build: BuildArguments,
    },
    /// Run random programs under shuttle, with many interleavings of the engine's threads
    Schedules {
        /// Number of programs
        #[arg(long, value_name = "N", default_value_t = 1000)]
        scenarios: u64,
        /// Interleavings per program and shuttle scheduler
        #[arg(long, value_name = "N", default_value_t = 25)]
        orders: u64,
        /// First seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Check links, quoted programs and translations of the documents, and run every command of the tutorial
    Documents {
        /// Draw the picture of the tutorial again instead
        #[arg(long)]
        write: bool,
    },
    /// Build the site from docs/, with search, into target/site
    Site,
    /// Generate docs/support.md from the function manifest
    Support {
        /// Fail if the file is out of date
        #[arg(long)]
        check: bool,
    },
    /// Run the examples and the demo under the checker; only expected findings may be proven
    Examples {
        /// Number of random schedules per program, in addition to early and late
        #[arg(long, value_name = "N", default_value_t = 20)]
        seeds: u32,
    },
    /// Run the zoo: every bug must be found, no fixed twin may be reported
    Zoo {
        /// Run only cases whose name contains this text
        #[arg(long, value_name = "TEXT")]
        filter: Option<String>,
        /// Verify the behavior of the programs only
        #[arg(long)]
        without_checker: bool,
        /// Number of random schedules per fixed program
        #[arg(long, value_name = "N", default_value_t = 50)]
        seeds: u32,
        /// Run the fixed programs in every order instead, up to a low bound
        #[arg(long, conflicts_with_all = ["without_checker", "sanitizer"])]
        explore: bool,
        /// Run the fixed programs with a sanitizer: address, thread, undefined or valgrind
        #[arg(long, value_name = "NAME")]
        sanitizer: Option<String>,
        /// Generate docs/zoo.md instead
        #[arg(long)]
        table: bool,
        /// With --table: fail if the file is out of date
        #[arg(long, requires = "table")]
        check: bool,
    },
    /// Break each rule of the checker deliberately; a case of the zoo must notice
    Mutate {
        /// Break only rules whose id contains this text
        #[arg(long, value_name = "TEXT")]
        filter: Option<String>,
    },
    /// Compute the graphs of crates and modules and fail on a cycle
    Architecture {
        /// Write the graphs as JSON (`-` for stdout)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Update the generated parts of ARCHITECTURE.md and docs/architecture.svg
        #[arg(long, conflicts_with = "check")]
        write: bool,
        /// Fail if the generated parts are out of date
        #[arg(long)]
        check: bool,
    },
    /// Search the tracked files for retired words
    Vocabulary {
        /// Search only files whose path contains this text
        #[arg(long, value_name = "TEXT")]
        filter: Option<String>,
    },
}

#[derive(Args)]
struct ConformanceArguments {
    /// Run only programs whose topic/name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run only on this product
    #[arg(long)]
    soc: Option<String>,
    /// Run under the checker (no undeclared finding may be proven) or the tracer (validate every trace)
    #[arg(long, value_enum)]
    observer: Option<ObserverName>,
    /// Number of random schedules under the checker, in addition to early and late [default: 20]
    #[arg(long, value_name = "N", requires = "observer")]
    seeds: Option<u64>,
    /// Build the programs with a sanitizer (address, thread, undefined), or run them in valgrind
    #[arg(long, value_name = "NAME")]
    sanitizer: Option<String>,
    /// Test the libascendcl.so in DIR, on a host with a card, instead of softacl
    #[arg(long, value_name = "DIR")]
    library: Option<PathBuf>,
    /// Build for another target, for example aarch64-unknown-linux-gnu, and run with cargo's runner for it
    #[arg(long, value_name = "TRIPLE", conflicts_with = "library")]
    target: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ObserverName {
    Checker,
    Tracer,
}

#[derive(Args)]
struct BuildArguments {
    /// Build with a sanitizer: address (requires a nightly toolchain) or thread (requires the source of the standard
    /// library); see docs/reliability.md
    #[arg(long, value_name = "NAME")]
    sanitizer: Option<String>,
}

impl BuildArguments {
    fn build(&self) -> Result<Build> {
        Build::of(self.sanitizer.as_deref())
    }
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Test(options) => test::run(&options),
        Command::Install { prefix, uninstall: true } => install::uninstall(&prefix),
        Command::Install { prefix, .. } => install::install(&prefix),
        Command::Conformance(arguments) => run_conformance(arguments),
        Command::Failpoints { filter, points, max_points, part } => {
            let part = failpoints::part(&part)?;
            failpoints::run(&failpoints::Options { filter: filter.as_deref(), points: &points, max_points, part })
        }
        Command::Miri => miri::run(),
        Command::TestTorch { filter } => torch::test(filter.as_deref()),
        Command::Wheel { output, manylinux } => {
            let wheel = if manylinux {
                let wheel = wheel::build_portable(&portable::build()?, &output)?;
                wheel_check::check(&wheel)?;
                wheel
            } else {
                wheel::build(&output)?
            };
            println!("built {}", wheel.display());
            Ok(())
        }
        Command::Deb { output } => {
            let package = deb::build(&portable::build()?, &output)?;
            println!("built {}", package.display());
            deb::check(&package)
        }
        Command::Release { output, skip_crates } => release::run(&output, skip_crates),
        Command::Soak { seconds, hours, build } => {
            let seconds = hours.map_or(seconds, |hours| (hours * 3600.0) as u32);
            match build.build()? {
                Build::Plain => test::soak(seconds),
                build => fuzzing::soak_with_sanitizer(seconds, build),
            }
        }
        Command::Fuzz { minutes, seed, target, build } => {
            fuzzing::fuzz(target.as_deref(), minutes * 60, seed.unwrap_or_else(seed_from_clock), build.build()?)
        }
        Command::Simulate { minutes, seed, build } => {
            fuzzing::simulate(minutes * 60, seed.unwrap_or_else(seed_from_clock), build.build()?)
        }
        Command::Schedules { scenarios, orders, seed } => fuzzing::schedules(scenarios, orders, seed),
        Command::Examples { seeds } => examples::check(seeds),
        Command::Documents { write: true } => documents::write(),
        Command::Documents { .. } => documents::check().and_then(|()| documents::run_tutorial()),
        Command::Site => site::build().map(drop),
        Command::Support { check } => support::write(check),
        Command::Zoo { table: true, check, .. } => zoo::table(check),
        Command::Zoo { filter, without_checker, seeds, explore, sanitizer, .. } => {
            let sanitizer = program_sanitizer(sanitizer)?;
            let checker = !without_checker && sanitizer.is_none();
            zoo::run(&zoo::Options { filter, checker, seeds, explore, sanitizer })
        }
        Command::Mutate { filter } => mutate::run(filter.as_deref()),
        Command::Architecture { json, write, check } => {
            architecture::run(&architecture::Options { json: json.as_deref(), write, check })
        }
        Command::Vocabulary { filter } => vocabulary::run(filter.as_deref()),
    }
}

fn run_conformance(arguments: ConformanceArguments) -> Result<()> {
    let ConformanceArguments { filter, soc, observer, seeds, sanitizer, library, target } = arguments;
    ensure!(seeds.is_none() || observer == Some(ObserverName::Checker), "--seeds requires --observer checker");
    let observer = observer.map(|name| match name {
        ObserverName::Checker => conformance::Observer::Checker(seeds.unwrap_or(20)),
        ObserverName::Tracer => conformance::Observer::Tracer,
    });
    let sanitizer = program_sanitizer(sanitizer)?;
    let real_hardware = library.is_some();
    let library_dir = match library {
        Some(directory) => directory,
        None => workspace::build_library_for(target.as_deref())?,
    };
    let defaults = workspace::conformance_options(library_dir);
    let build_dir = defaults.build_dir.join(target.as_deref().unwrap_or_default());
    let options =
        conformance::Options { filter, soc, observer, sanitizer, real_hardware, target, build_dir, ..defaults };
    let summary = conformance::run(&options)?;
    ensure!(summary.failed == 0, "{} conformance runs failed", summary.failed);
    Ok(())
}

/// Default seed, derived from the time. Every command prints the seed with its result.
fn seed_from_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() * 1_000_000)
}

/// Parses `--sanitizer` of the commands that run C and C++ programs.
fn program_sanitizer(name: Option<String>) -> Result<Option<conformance::Sanitizer>> {
    let Some(name) = name else { return Ok(None) };
    let all = conformance::Sanitizer::ALL;
    let names = || all.map(conformance::Sanitizer::name).join(", ");
    let found = all.into_iter().find(|sanitizer| sanitizer.name() == name);
    found.map(Some).with_context(|| format!("--sanitizer: {name:?} is none of {}", names()))
}
