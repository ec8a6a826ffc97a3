//! `cargo xtask test`: every test there is, step by step, with one line about each at the end.

use crate::conformance::{self, Options, Sanitizer};
use crate::{browser, install, python, support, tree, zoo};
use anyhow::{Context, Result, ensure};
use std::process::Command;
use std::time::Instant;

type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("format", || tree::run(tree::cargo().args(["fmt", "--all", "--check"]))),
    ("lints", || {
        tree::run(tree::cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
    }),
    ("units and model", || tree::run(tree::cargo().args(["test", "--workspace", "--locked"]))),
    ("report in a browser", browser::test),
    ("interleavings", interleavings),
    ("support table", || support::write(true)),
    ("zoo table", || zoo::table(true)),
    ("conformance", || conform(None, None)),
    ("conformance, checked", || conform(None, Some(1))),
    ("conformance, ASan", || conform(Some(Sanitizer::Address), None)),
    ("conformance, TSan", || conform(Some(Sanitizer::Thread), None)),
    ("installation", install::check),
    ("python", python::test),
    ("examples", examples),
    ("zoo", || zoo::run(&zoo::Options { filter: None, checker: true, seeds: 5 })),
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

fn interleavings() -> Result<()> {
    // A target directory of its own: the flag would otherwise rebuild everything twice.
    tree::run(
        tree::cargo()
            .args(["test", "--package", "softacl-engine", "--release", "--lib", "--locked"])
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", tree::target().join("loom")),
    )
}

fn conform(sanitizer: Option<Sanitizer>, checked: Option<u64>) -> Result<()> {
    let options = Options { sanitizer, checked, ..tree::conformance_options(tree::build_library()?) };
    let summary = conformance::run(&options)?;
    ensure!(summary.failed == 0, "{} conformance runs failed", summary.failed);
    Ok(())
}

/// The C examples as a user builds them: with make, against an installation, in a copy.
fn examples() -> Result<()> {
    let prefix = tree::target().join("install-check/softacl");
    install::install(&prefix)?;
    let copy = tree::target().join("examples-check");
    install::copy_tree(&tree::root().join("examples/c"), &copy)?;
    let script = format!("source {}/set_env.sh && make -s -C {} run", prefix.display(), copy.display());
    tree::run(Command::new("bash").args(["-c", &script]))
}

fn demo() -> Result<()> {
    tree::run(tree::cargo().args(["run", "--release", "--locked", "--", "demo", "--blocks", "512"]))
}

pub fn soak(seconds: u32) -> Result<()> {
    tree::run(tree::cargo().args([
        "run",
        "--release",
        "--locked",
        "--package",
        "softacl-testkit",
        "--bin",
        "soak",
        "--",
        &seconds.to_string(),
    ]))
}
