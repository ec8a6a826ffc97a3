//! Fuzzing, simulation, shuttle schedules and the soak with sanitizers: how each is built and started.

use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fuzz targets that call the C API.
const API_TARGETS: [&str; 2] = ["c-interface", "sequences"];
/// Fuzz targets that parse external text.
const PARSERS: [&str; 6] = ["json", "profiles", "suppressions", "report", "faults", "environment"];

/// Compiler options for edge counters. They are stable.
const EDGE_COUNTERS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table";
/// Target triple of builds with counters or sanitizers.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// Build variant of a fuzzer or simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// Debug build, with assertions and overflow checks.
    Plain,
    /// Debug build that counts the code edges an input reaches.
    Counted,
    /// Engine, library and fuzzer with AddressSanitizer. Requires a nightly toolchain.
    Address,
    /// Engine, library, fuzzer and standard library with ThreadSanitizer. Without an instrumented standard library, its
    /// mutexes establish no order.
    Thread,
}

impl Build {
    /// Parses `--sanitizer`.
    pub fn of(sanitizer: Option<&str>) -> Result<Build> {
        match sanitizer {
            None => Ok(Build::Plain),
            Some("address") => Ok(Build::Address),
            Some("thread") => Ok(Build::Thread),
            Some(other) => bail!("--sanitizer: {other:?} is neither address nor thread"),
        }
    }
}

/// Fuzzes one target, or all targets one after another, for `seconds` in total.
pub fn fuzz(target: Option<&str>, seconds: u64, seed: u64, build: Build) -> Result<()> {
    let targets: Vec<&str> = match target {
        None => API_TARGETS.into_iter().chain(PARSERS).collect(),
        Some(target) if API_TARGETS.contains(&target) || PARSERS.contains(&target) => vec![target],
        Some(target) => bail!("--target: {target:?} is not one of {}, {}", API_TARGETS.join(", "), PARSERS.join(", ")),
    };
    // The C API is the largest surface: its two targets get about half of the time.
    let weight = |target: &str| if API_TARGETS.contains(&target) { 15 } else { 4 };
    let total: u64 = targets.iter().map(|target| weight(target)).sum();
    for target in targets {
        let build = match (build, PARSERS.contains(&target)) {
            (Build::Plain, true) => Build::Counted,
            (build, _) => build,
        };
        run_fuzzer(build, target, (seconds * weight(target) / total).max(1), seed)?;
    }
    Ok(())
}

fn run_fuzzer(build: Build, target: &str, seconds: u64, seed: u64) -> Result<()> {
    let program = built(build, "softacl-fuzz", "softacl-fuzz")?;
    workspace::run(command(build, program).args([target, &seconds.to_string(), &seed.to_string()]))
}

/// Fuzzes every target for a few seconds with a fixed seed, for `cargo xtask test`.
pub fn fuzz_smoke() -> Result<()> {
    for (target, seconds) in [("c-interface", 5), ("sequences", 5)] {
        run_fuzzer(Build::Plain, target, seconds, 1)?;
    }
    for target in PARSERS {
        run_fuzzer(Build::Plain, target, 1, 1)?;
    }
    Ok(())
}

/// Runs random scenarios under shuttle, starting at seed `first`, each with `orders` interleavings of all threads.
pub fn schedules(scenarios: u64, orders: u64, first: u64) -> Result<()> {
    // A separate target directory: otherwise the flag causes a rebuild of everything, twice.
    workspace::run(
        workspace::cargo()
            .args(["test", "--package", "softacl-testkit", "--release", "--test", "schedules", "--locked"])
            .args(["--", "--nocapture"])
            .env("RUSTFLAGS", "--cfg shuttle")
            .env("CARGO_TARGET_DIR", workspace::target().join("shuttle"))
            .env("SHUTTLE_SILENCE_WARNINGS", "1")
            .env("SCHEDULES_SEEDS", scenarios.to_string())
            .env("SCHEDULES_ORDERS", orders.to_string())
            .env("SCHEDULES_FIRST", first.to_string()),
    )
}

/// Runs the simulation for `seconds`.
pub fn simulate(seconds: u64, seed: u64, build: Build) -> Result<()> {
    let program = built(build, "softacl-testkit", "simulate")?;
    workspace::run(command(build, program).args([seconds.to_string(), seed.to_string()]))
}

/// Runs the soak with a sanitizer.
pub fn soak_with_sanitizer(seconds: u32, build: Build) -> Result<()> {
    let program = built(build, "softacl-testkit", "soak")?;
    workspace::run(command(build, program).arg(seconds.to_string()))
}

/// Builds a program of the workspace and returns its path. Fails if a sanitizer does not report its canaries.
pub fn built(build: Build, package: &str, name: &str) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    let directory = match build {
        Build::Plain => {
            workspace::run(cargo.args(["build", "--locked", "--package", package]))?;
            workspace::target().join("debug")
        }
        Build::Counted => {
            let target = workspace::target().join("counted");
            // With an explicit target, RUSTFLAGS does not apply to build scripts, which do not link with the counters.
            cargo.args(["build", "--locked", "--package", package, "--target", HOST]);
            workspace::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", EDGE_COUNTERS))?;
            target.join(HOST).join("debug")
        }
        Build::Address => {
            let target = workspace::target().join("sanitizer-address");
            ensure!(
                Command::new("cargo")
                    .args(["+nightly", "--version"])
                    .output()
                    .is_ok_and(|output| output.status.success()),
                "the address sanitizer requires a nightly toolchain: rustup toolchain install nightly"
            );
            for package in ["softacl-testkit", package] {
                let mut cargo = Command::new("cargo");
                cargo.current_dir(workspace::root()).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
                cargo.args(["+nightly", "build", "--release", "--locked", "--package", package, "--target", HOST]);
                workspace::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-Zsanitizer=address"))?;
            }
            let directory = target.join(HOST).join("release");
            let bugs = [("address", "heap-buffer-overflow"), ("leak", "LeakSanitizer: detected memory leaks")];
            check_canaries(build, &directory, &bugs)?;
            directory
        }
        Build::Thread => {
            let target = workspace::target().join("sanitizer-thread");
            let source = library_source()?;
            for package in ["softacl-testkit", package] {
                let mut cargo = workspace::cargo();
                cargo.args(["build", "-Zbuild-std", "--release", "--locked", "--package", package, "--target", HOST]);
                // By default, cargo reads the source from its toolchain.
                cargo.env("__CARGO_TESTS_ONLY_SRC_ROOT", &source).env("RUSTC_BOOTSTRAP", "1");
                workspace::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-Zsanitizer=thread"))?;
            }
            let directory = target.join(HOST).join("release");
            check_canaries(build, &directory, &[("thread", "ThreadSanitizer: data race")])?;
            directory
        }
    };
    Ok(directory.join(name))
}

/// Fails unless the sanitizer reports known bugs, or if it reports threads that a mutex of the standard library orders.
fn check_canaries(build: Build, directory: &Path, bugs: &[(&str, &str)]) -> Result<()> {
    let run = |what: &str| {
        let output = command(build, directory.join("canary")).arg(what).output().context("starting the canary")?;
        Ok::<_, anyhow::Error>((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    for (bug, report) in bugs {
        let (succeeded, output) = run(bug)?;
        ensure!(
            !succeeded && output.contains(report),
            "the sanitizer has no effect: a known bug ({bug}) was not reported:\n{output}"
        );
    }
    let (succeeded, output) = run("mutex")?;
    ensure!(succeeded, "the sanitizer reports a correct program:\n{output}");
    Ok(())
}

/// Returns the source directory of the toolchain's standard library.
fn library_source() -> Result<PathBuf> {
    if let Some(source) = std::env::var_os("SOFTACL_RUST_SOURCE") {
        return Ok(source.into());
    }
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().context("starting rustc")?;
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let source = Path::new(&root).join("lib/rustlib/src/rust/library");
    ensure!(
        source.is_dir(),
        "the thread sanitizer requires the source of the standard library: rustup component add rust-src, or set \
         SOFTACL_RUST_SOURCE to the directory `library` of the same version (Debian package: rust-src)"
    );
    Ok(source)
}

/// Returns the command that starts a program, with the options of the sanitizer. The engine handles faults first.
pub fn command(build: Build, program: PathBuf) -> Command {
    if build == Build::Thread {
        // ThreadSanitizer fails if the address space is randomized.
        let mut command = Command::new("setarch");
        command.arg("-R").arg(program);
        command.env("TSAN_OPTIONS", "halt_on_error=0,exitcode=66,handle_segv=0,handle_sigbus=0,atexit_sleep_ms=0");
        return command;
    }
    let mut command = Command::new(program);
    if build == Build::Address {
        command.env("ASAN_OPTIONS", "allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0:detect_leaks=1");
    }
    command
}
