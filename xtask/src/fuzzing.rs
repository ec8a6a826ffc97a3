//! Long searches for mistakes: fuzzing and simulation, for as long as one likes, and their builds.

use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What can be fuzzed: two ways to call the C interface, and everything that reads text from outside.
const INTERFACE: [&str; 2] = ["c-interface", "sequences"];
const READERS: [&str; 7] = ["json", "profiles", "suppressions", "report", "trace", "faults", "environment"];

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
    /// The same with the thread sanitizer, and the standard library too: otherwise its mutexes order nothing.
    Thread,
}

impl Build {
    /// What `--sanitizer` names.
    pub fn of(sanitizer: Option<&str>) -> Result<Build> {
        match sanitizer {
            None => Ok(Build::Plain),
            Some("address") => Ok(Build::Address),
            Some("thread") => Ok(Build::Thread),
            Some(other) => bail!("--sanitizer: {other:?} is neither address nor thread"),
        }
    }
}

/// Fuzzes one target, or all in turn, for so many seconds in all.
pub fn fuzz(target: Option<&str>, seconds: u64, seed: u64, build: Build) -> Result<()> {
    let targets: Vec<&str> = match target {
        None => INTERFACE.into_iter().chain(READERS).collect(),
        Some(target) if INTERFACE.contains(&target) || READERS.contains(&target) => vec![target],
        Some(target) => bail!("--target: {target:?} is not one of {}, {}", INTERFACE.join(", "), READERS.join(", ")),
    };
    // The interface is where most can go wrong: it has three quarters of the time.
    let weight = |target: &str| if INTERFACE.contains(&target) { 15 } else { 4 };
    let whole: u64 = targets.iter().map(|target| weight(target)).sum();
    for target in targets {
        let build = match (build, READERS.contains(&target)) {
            (Build::Plain, true) => Build::Counted,
            (build, _) => build,
        };
        run_fuzzer(build, target, (seconds * weight(target) / whole).max(1), seed)?;
    }
    Ok(())
}

fn run_fuzzer(build: Build, target: &str, seconds: u64, seed: u64) -> Result<()> {
    let program = built(build, "softacl-fuzz", "softacl-fuzz")?;
    workspace::run(command(build, program).args([target, &seconds.to_string(), &seed.to_string()]))
}

/// A few seconds of every target with a fixed seed, for `cargo xtask test`.
pub fn fuzz_smoke() -> Result<()> {
    for (target, seconds) in [("c-interface", 5), ("sequences", 5)] {
        run_fuzzer(Build::Plain, target, seconds, 1)?;
    }
    for target in READERS {
        run_fuzzer(Build::Plain, target, 1, 1)?;
    }
    Ok(())
}

/// Runs so many scenarios, from the one of a seed on, each in so many orders of all steps of all threads, under shuttle.
pub fn schedules(scenarios: u64, orders: u64, first: u64) -> Result<()> {
    // A target directory of its own: the flag would otherwise rebuild everything twice.
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

/// Simulates for so many seconds.
pub fn simulate(seconds: u64, seed: u64, build: Build) -> Result<()> {
    let program = built(build, "softacl-testkit", "simulate")?;
    workspace::run(command(build, program).args([seconds.to_string(), seed.to_string()]))
}

/// The soak with a sanitizer.
pub fn soak_with_sanitizer(seconds: u32, build: Build) -> Result<()> {
    let program = built(build, "softacl-testkit", "soak")?;
    workspace::run(command(build, program).arg(seconds.to_string()))
}

/// A program of the workspace, built in one of the ways. A sanitizer must have reported its canaries.
pub fn built(build: Build, package: &str, name: &str) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    let directory = match build {
        Build::Plain => {
            workspace::run(cargo.args(["build", "--locked", "--package", package]))?;
            workspace::target().join("debug")
        }
        Build::Counted => {
            let target = workspace::target().join("counted");
            // With a target named, build scripts are built without the counters, which they could not link.
            cargo.args(["build", "--locked", "--package", package, "--target", HOST]);
            workspace::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", COUNTED))?;
            target.join(HOST).join("debug")
        }
        Build::Address => {
            let target = workspace::target().join("sanitizer-address");
            ensure!(
                Command::new("cargo")
                    .args(["+nightly", "--version"])
                    .output()
                    .is_ok_and(|output| output.status.success()),
                "the address sanitizer takes a nightly toolchain: rustup toolchain install nightly"
            );
            for package in ["softacl-testkit", package] {
                let mut cargo = Command::new("cargo");
                cargo.current_dir(workspace::root()).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
                cargo.args(["+nightly", "build", "--release", "--locked", "--package", package, "--target", HOST]);
                workspace::run(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-Zsanitizer=address"))?;
            }
            let directory = target.join(HOST).join("release");
            let mistakes = [("address", "heap-buffer-overflow"), ("leak", "LeakSanitizer: detected memory leaks")];
            check_canaries(build, &directory, &mistakes)?;
            directory
        }
        Build::Thread => {
            let target = workspace::target().join("sanitizer-thread");
            let source = library_source()?;
            for package in ["softacl-testkit", package] {
                let mut cargo = workspace::cargo();
                cargo.args(["build", "-Zbuild-std", "--release", "--locked", "--package", package, "--target", HOST]);
                // Cargo reads the source from its toolchain, unless it is told otherwise.
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

/// Requires that the sanitizer reports known mistakes. One that orders threads by a mutex of the standard library
/// must not be reported, or everything would be.
fn check_canaries(build: Build, directory: &Path, mistakes: &[(&str, &str)]) -> Result<()> {
    let run = |what: &str| {
        let output =
            command(build, directory.join("canary")).arg(what).output().context("could not start the canary")?;
        Ok::<_, anyhow::Error>((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    for (mistake, report) in mistakes {
        let (succeeded, told) = run(mistake)?;
        ensure!(
            !succeeded && told.contains(report),
            "the sanitizer is not at work: a known mistake ({mistake}) was not reported, but:\n{told}"
        );
    }
    let (succeeded, told) = run("mutex")?;
    ensure!(succeeded, "the sanitizer reports what is no mistake:\n{told}");
    Ok(())
}

/// The source of the standard library of this toolchain.
fn library_source() -> Result<PathBuf> {
    if let Some(source) = std::env::var_os("SOFTACL_RUST_SOURCE") {
        return Ok(source.into());
    }
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().context("could not start rustc")?;
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let source = Path::new(&root).join("lib/rustlib/src/rust/library");
    ensure!(
        source.is_dir(),
        "the thread sanitizer takes the source of the standard library: rustup component add rust-src, or \
         SOFTACL_RUST_SOURCE=DIR with the directory `library` of the same version (Debian has packages rust-src)"
    );
    Ok(source)
}

/// The program, with the options of the sanitizer: faults are ours to handle first.
pub fn command(build: Build, program: PathBuf) -> Command {
    if build == Build::Thread {
        // It cannot live with a randomised address space.
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
