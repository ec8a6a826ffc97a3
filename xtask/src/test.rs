//! `cargo xtask test`: every test there is, step by step, with one line about each at the end.

use crate::conformance::{self, Observer, Options, Sanitizer};
use crate::{browser, examples, failpoints, fuzzing, install, python, support, workspace, zoo};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;
use std::time::Instant;

type TestStep = (&'static str, fn() -> Result<()>);

const STEPS: &[TestStep] = &[
    ("format", || workspace::run(workspace::cargo().args(["fmt", "--all", "--check"]))),
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
    ("support table", || support::write(true)),
    ("zoo table", || zoo::table(true)),
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
    ("zoo", || zoo::run(&zoo::Options { filter: None, checker: true, seeds: 3, sanitizer: None })),
    ("fuzz", fuzzing::fuzz_smoke),
    ("simulation", || fuzzing::simulate(15, 1, fuzzing::Build::Plain)),
    ("demo", demo),
    ("soak", || soak(60)),
];

/// Runs the steps in order and stops at the first that fails.
pub fn all(only: Option<&str>) -> Result<()> {
    check_tools()?;
    let mut done = Vec::new();
    for (name, step) in STEPS.iter().filter(|(name, _)| only.is_none_or(|only| name.contains(only))) {
        println!("== {name}");
        let start = Instant::now();
        step().with_context(|| format!("step {name:?} failed"))?;
        done.push((name, start.elapsed()));
    }
    ensure!(!done.is_empty(), "no step matches");
    println!("== all steps passed");
    for (name, took) in &done {
        println!("{name:<20} {:>7.1} s", took.as_secs_f64());
    }
    println!("{} passed, 0 failed", done.len());
    Ok(())
}

fn check_tools() -> Result<()> {
    for tool in ["gcc", "g++"] {
        let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
        ensure!(found, "{tool} is needed and was not found; on Debian and Ubuntu: apt-get install gcc g++");
    }
    Ok(())
}

/// All points of the program that has to survive them, and a sample of the demo's and of two others.
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
    // A target directory of its own: the flag would otherwise rebuild everything twice.
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

/// Every example of the safe crate on several schedules, each under the checker: a proven finding is exit code 2.
fn rust_examples() -> Result<()> {
    workspace::run(workspace::cargo().args(["build", "--package", "ascendcl", "--examples", "--locked"]))?;
    let mut names: Vec<_> = fs::read_dir(workspace::root().join("crates/ascendcl/examples"))?
        .map(|entry| entry.map(|entry| entry.path().with_extension("")))
        .collect::<std::io::Result<_>>()?;
    // The lessons have numbers; the measurement has none, and is no lesson.
    names.retain(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit()));
    names.sort();
    ensure!(names.len() == 8, "there are {} examples, not 8", names.len());
    let mut runs = 0;
    for name in names.iter().filter_map(|path| path.file_name()) {
        let schedules = ["threads", "early", "late"].map(str::to_owned);
        for schedule in schedules.into_iter().chain((1..=5).map(|seed| format!("random:{seed}"))) {
            let mut command = Command::new(workspace::target().join("debug/examples").join(name));
            command.env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", &schedule).env_remove("SOFTACL_CHECK_DIR");
            let output = command.output().with_context(|| format!("could not start {command:?}"))?;
            let told = String::from_utf8_lossy(&output.stderr);
            ensure!(
                output.status.success() && told.contains("softacl check: 0 proven"),
                "{} on schedule {schedule} ended with {}:\n{told}",
                name.display(),
                output.status
            );
            runs += 1;
        }
    }
    println!("{runs} runs, nothing proven");
    Ok(())
}

fn demo() -> Result<()> {
    workspace::run(workspace::cargo().args(["run", "--release", "--locked", "--", "demo", "--blocks", "512"]))
}

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
