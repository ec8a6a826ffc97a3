//! The examples, as a user meets them: built with make against an installation, and under the checker.

use crate::{install, python, tree};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn prefix() -> PathBuf {
    tree::target().join("install-check/softacl")
}

fn copy() -> PathBuf {
    tree::target().join("examples-check")
}

/// Builds the C examples in a copy and runs them.
pub fn run() -> Result<()> {
    install::install(&prefix())?;
    install::copy_tree(&tree::root().join("examples/c"), &copy())?;
    in_shell(&format!("make -s -C {} run", copy().display()))
}

/// Runs the examples in C and Python and the demo under the checker: nothing may be proven but what they do
/// wrong on purpose.
pub fn check(seeds: u32) -> Result<()> {
    run()?;
    let purpose = tree::root().join("examples/on_purpose.txt");
    let mut programs: Vec<String> = fs::read_dir(copy())?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.with_extension("c").exists() && path.extension().is_none())
        .map(|path| path.display().to_string())
        .collect();
    let python = python::interpreter()?;
    for entry in fs::read_dir(tree::root().join("examples/python"))? {
        let path = entry?.path();
        // One of them shows numpy, which an installation does not need.
        if path.extension().is_some_and(|extension| extension == "py") && !path.ends_with("07_numpy.py") {
            programs.push(format!("{} {}", python.display(), path.display()));
        }
    }
    programs.push("softacl demo --blocks 128".to_owned());
    programs.sort();
    ensure!(programs.len() > 10, "the examples are not where they should be");
    let schedules = ["late", "early"].map(str::to_owned).into_iter();
    let schedules: Vec<String> = schedules.chain((1..=seeds).map(|seed| format!("random:{seed}"))).collect();
    for program in &programs {
        for schedule in &schedules {
            let check = format!("softacl check --schedule {schedule} --suppress {} -- {program}", purpose.display());
            in_shell(&format!(
                "{check} > /dev/null 2> {0}/checked.txt || {{ cat {0}/checked.txt; exit 1; }}",
                copy().display()
            ))
            .with_context(|| format!("{program} on {schedule}"))?;
        }
    }
    println!("{} programs on {} schedules: nothing proven", programs.len(), schedules.len());
    Ok(())
}

fn in_shell(command: &str) -> Result<()> {
    let script = format!("source {}/set_env.sh && {command}", prefix().display());
    tree::run(Command::new("bash").args(["-c", &script]).stdin(Stdio::null()))
}
