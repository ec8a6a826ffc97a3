//! Long searches for mistakes: fuzzing and simulation, for as long as one likes, and their builds.

use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

/// What can be fuzzed: two ways to call the C interface, and everything that reads text from outside.
const INTERFACE: [&str; 2] = ["c-interface", "sequences"];
const READERS: [&str; 6] = ["json", "profiles", "suppressions", "report", "faults", "environment"];

/// The options of the compiler that count edges. They are stable.
const COUNTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table";
const HOST: &str = "x86_64-unknown-linux-gnu";

/// How a fuzzer or simulation is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// With the assertions and overflow checks of a debug build.
    Plain,
    /// The same, and it counts which edges of the code an input reaches.
    Counted,
    /// Engine, library and fuzzer with the address sanitizer, which takes a nightly toolchain.
    Address,
}

/// Fuzzes one target, or all in turn, for so many seconds in all.
pub fn fuzz(target: Option<&str>, seconds: u64, seed: u64, address: bool) -> Result<()> {
    let targets: Vec<&str> = match target {
        None => INTERFACE.into_iter().chain(READERS).collect(),
        Some(target) if INTERFACE.contains(&target) || READERS.contains(&target) => vec![target],
        Some(target) => bail!("--target: {target:?} is not one of {}, {}", INTERFACE.join(", "), READERS.join(", ")),
    };
    // The interface is where most can go wrong: it has three quarters of the time.
    let weight = |target: &str| if INTERFACE.contains(&target) { 15 } else { 4 };
    let whole: u64 = targets.iter().map(|target| weight(target)).sum();
    for target in targets {
        let build = match (address, READERS.contains(&target)) {
            (true, _) => Build::Address,
            (_, true) => Build::Counted,
            _ => Build::Plain,
        };
        run_fuzzer(build, target, (seconds * weight(target) / whole).max(1), seed)?;
    }
    Ok(())
}

fn run_fuzzer(build: Build, target: &str, seconds: u64, seed: u64) -> Result<()> {
    let program = built(build, "softacl-fuzz", "softacl-fuzz")?;
    tree::run(command(build, program).args([target, &seconds.to_string(), &seed.to_string()]))
}

/// A few seconds of every target with a fixed seed, for `cargo xtask test`.
pub fn fuzz_shortly() -> Result<()> {
    for (target, seconds) in [("c-interface", 5), ("sequences", 5)] {
        run_fuzzer(Build::Plain, target, seconds, 1)?;
    }
    for target in READERS {
        run_fuzzer(Build::Plain, target, 1, 1)?;
    }
    Ok(())
}

/// Simulates for so many seconds.
pub fn simulate(seconds: u64, seed: u64, address: bool) -> Result<()> {
    let build = if address { Build::Address } else { Build::Plain };
    let program = built(build, "softacl-testkit", "simulate")?;
    tree::run(command(build, program).args([seconds.to_string(), seed.to_string()]))
}

/// The soak with the address sanitizer.
pub fn soak_with_sanitizer(seconds: u32) -> Result<()> {
    let program = built(Build::Address, "softacl-testkit", "soak")?;
    tree::run(command(Build::Address, program).arg(seconds.to_string()))
}

/// A program of the workspace, built in one of the ways. A sanitizer must have reported its canaries.
pub fn built(build: Build, package: &str, name: &str) -> Result<PathBuf> {
    let mut cargo = tree::cargo();
    let directory = match build {
        Build::Plain => {
            tree::run(cargo.args(["build", "--locked", "--package", package]))?;
            tree::target().join("debug")
        }
        Build::Counted => {
            let target = tree::target().join("counted");
            // With a target named, build scripts are built without the counters, which they could not link.
            cargo.args(["build", "--locked", "--package", package, "--target", HOST]);
            tree::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", COUNTED))?;
            target.join(HOST).join("debug")
        }
        Build::Address => {
            let target = tree::target().join("sanitizer-address");
            ensure!(
                Command::new("cargo")
                    .args(["+nightly", "--version"])
                    .output()
                    .is_ok_and(|output| output.status.success()),
                "the address sanitizer takes a nightly toolchain: rustup toolchain install nightly"
            );
            for package in ["softacl-testkit", package] {
                let mut cargo = Command::new("cargo");
                cargo.current_dir(tree::root()).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
                cargo.args(["+nightly", "build", "--release", "--locked", "--package", package, "--target", HOST]);
                tree::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-Zsanitizer=address"))?;
            }
            let directory = target.join(HOST).join("release");
            for (mistake, report) in
                [("address", "heap-buffer-overflow"), ("leak", "LeakSanitizer: detected memory leaks")]
            {
                let output = command(Build::Address, directory.join("canary"))
                    .arg(mistake)
                    .output()
                    .context("could not start the canary")?;
                let told = String::from_utf8_lossy(&output.stderr);
                ensure!(
                    !output.status.success() && told.contains(report),
                    "the sanitizer is not at work: a known mistake ({mistake}) was not reported, but:\n{told}"
                );
            }
            directory
        }
    };
    Ok(directory.join(name))
}

/// The program, with the options of the sanitizer: faults are ours to handle first.
pub fn command(build: Build, program: PathBuf) -> Command {
    let mut command = Command::new(program);
    if build == Build::Address {
        command.env("ASAN_OPTIONS", "allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0:detect_leaks=1");
    }
    command
}
