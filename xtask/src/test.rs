//! `cargo xtask test`: runs every test, step by step, and prints a summary.

use crate::conformance::{self, Observer, Options, Sanitizer};
use crate::{
    architecture, browser, examples, failpoints, fuzzing, install, python, support, vocabulary, workspace, zoo,
};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;
use std::time::Instant;

type TestStep = (&'static str, fn() -> Result<()>);

const STEPS: &[TestStep] = &[
    ("format", || workspace::run(workspace::cargo().args(["fmt", "--all", "--check"]))),
    ("architecture", architecture::test),
    ("vocabulary", || vocabulary::run(None)),
    ("support table", || support::write(true)),
    ("zoo table", || zoo::table(true)),
    ("lints", || {
        workspace::run(workspace::cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]))
    }),
    ("units and model", || workspace::run(workspace::cargo().args(["test", "--workspace", "--locked"]))),
    ("report in a browser", browser::test),
    ("interleavings", interleavings),
    ("schedules", || fuzzing::schedules(40, 25, 0)),
    ("conformance", || conform(None, None)),
    ("conformance, checked", || conform(None, Some(Observer::Checker(1)))),
    ("conformance, traced", || conform(None, Some(Observer::Tracer))),
    ("conformance, ASan", || conform(Some(Sanitizer::Address), None)),
    ("conformance, TSan", || conform(Some(Sanitizer::Thread), None)),
    ("failure points", failure_points),
    ("installation", install::check),
    ("python", python::test),
    ("examples", examples::run),
    ("examples, checked", || examples::check(3)),
    ("examples of clients", examples::clients),
    ("examples in Rust", rust_examples),
    ("zoo", || zoo::run(&zoo::Options { filter: None, checker: true, seeds: 3, explore: false, sanitizer: None })),
    ("zoo orders", || {
        zoo::run(&zoo::Options { filter: None, checker: true, seeds: 0, explore: true, sanitizer: None })
    }),
    ("fuzz", fuzzing::fuzz_smoke),
    ("simulation", || fuzzing::simulate(15, 1, fuzzing::Build::Plain)),
    ("demo", demo),
    ("soak", || soak(60)),
];

/// Runs the steps whose name contains `filter`, in order, and stops at the first failure.
pub fn all(filter: Option<&str>) -> Result<()> {
    check_tools()?;
    let steps: Vec<&TestStep> =
        STEPS.iter().filter(|(name, _)| filter.is_none_or(|filter| name.contains(filter))).collect();
    ensure!(
        !steps.is_empty(),
        "no step matches; the steps are {}",
        STEPS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("; ")
    );
    let (count, started) = (steps.len(), Instant::now());
    let mut done = Vec::new();
    for (index, (name, step)) in steps.into_iter().enumerate() {
        println!("== {}/{count} {name} (after {:.0} s)", index + 1, started.elapsed().as_secs_f64());
        let start = Instant::now();
        step().with_context(|| {
            format!("step {name:?} failed; to repeat only this step: cargo xtask test --filter {name:?}")
        })?;
        let took = start.elapsed();
        println!("== {name}: passed in {:.1} s", took.as_secs_f64());
        done.push((name, took));
    }
    println!("== all steps passed");
    for (name, took) in &done {
        println!("{name:<20} {:>7.1} s", took.as_secs_f64());
    }
    println!("{count} passed, 0 failed, {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn check_tools() -> Result<()> {
    for tool in ["gcc", "g++"] {
        let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
        ensure!(found, "{tool} was not found; on Debian and Ubuntu: apt-get install gcc g++");
    }
    Ok(())
}

/// Runs all failure points of the program that must pass at each of them, and a sample of three other programs.
fn failure_points() -> Result<()> {
    let options =
        failpoints::Options { filter: Some("faults/cleanup"), points: &[], max_points: u64::MAX, part: (1, 1) };
    failpoints::run(&options)?;
    for sample in ["demo/demo", "kvcache/", "clients/framework"] {
        failpoints::run(&failpoints::Options { filter: Some(sample), max_points: 8, ..options })?;
    }
    Ok(())
}

fn interleavings() -> Result<()> {
    // A separate target directory: otherwise the flag causes a rebuild of everything, twice.
    workspace::run(
        workspace::cargo()
            .args(["test", "--package", "softacl-sync", "--release", "--lib", "--locked"])
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", workspace::target().join("loom")),
    )
}

fn conform(sanitizer: Option<Sanitizer>, observer: Option<Observer>) -> Result<()> {
    let options = Options { sanitizer, observer, ..workspace::conformance_options(workspace::build_library()?) };
    let summary = conformance::run(&options)?;
    ensure!(summary.failed == 0, "{} conformance runs failed", summary.failed);
    Ok(())
}

/// Runs every example of the safe crate under the checker on several schedules. A proven finding makes the exit code 2.
fn rust_examples() -> Result<()> {
    workspace::run(workspace::cargo().args(["build", "--package", "ascendcl", "--examples", "--locked"]))?;
    let mut names: Vec<_> = fs::read_dir(workspace::root().join("crates/ascendcl/examples"))?
        .map(|entry| entry.map(|entry| entry.path().with_extension("")))
        .collect::<std::io::Result<_>>()?;
    // Names of examples start with a digit. The benchmark is not one.
    names.retain(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit()));
    names.sort();
    ensure!(names.len() == 8, "found {} examples, expected 8", names.len());
    let mut runs = 0;
    for name in names.iter().filter_map(|path| path.file_name()) {
        let schedules = ["threads", "early", "late"].map(str::to_owned);
        for schedule in schedules.into_iter().chain((1..=5).map(|seed| format!("random:{seed}"))) {
            let mut command = Command::new(workspace::target().join("debug/examples").join(name));
            command.env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", &schedule).env_remove("SOFTACL_CHECK_DIR");
            let output = command.output().with_context(|| format!("starting {command:?}"))?;
            let text = String::from_utf8_lossy(&output.stderr);
            ensure!(
                output.status.success() && text.contains("softacl check: 0 proven"),
                "{} on schedule {schedule} ended with {}:\n{text}",
                name.display(),
                output.status
            );
            runs += 1;
        }
        println!("{} passed", name.display());
    }
    println!("{runs} runs, nothing proven");
    Ok(())
}

fn demo() -> Result<()> {
    workspace::run(workspace::cargo().args(["run", "--release", "--locked", "--", "demo", "--blocks", "512"]))
}

/// Runs the soak for `seconds` and writes its table to `target/soak.md`.
pub fn soak(seconds: u32) -> Result<()> {
    workspace::run(workspace::cargo().args([
        "run",
        "--release",
        "--locked",
        "--package",
        "softacl-testkit",
        "--bin",
        "soak",
        "--",
        &seconds.to_string(),
        &workspace::target().join("soak.md").display().to_string(),
    ]))
}
