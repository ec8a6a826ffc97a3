//! The examples, as a user meets them: built with make against an installation, and under the checker.

use crate::{install, python, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn prefix() -> PathBuf {
    workspace::target().join("install-check/softacl")
}

fn copy() -> PathBuf {
    workspace::target().join("examples-check")
}

/// Builds the C examples in a copy and runs them.
pub fn run() -> Result<()> {
    install::install(&prefix())?;
    install::copy_tree(&workspace::root().join("examples/c"), &copy())?;
    in_shell(&format!("make -s -C {} run", copy().display()))
}

/// Runs the commands of the workflow in `examples/clients`, job by job, as a runner would: with the project as the
/// working directory and softacl beside it. The job for PyTorch belongs to `cargo xtask test-torch`.
pub fn clients() -> Result<()> {
    let place = workspace::target().join("clients-check");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    install::copy_tree(&workspace::root().join("examples/clients"), &place.join("examples/clients"))?;
    std::os::unix::fs::symlink(workspace::root(), place.join("softacl"))?;
    let workflow = fs::read_to_string(workspace::root().join("examples/clients/github/softacl.yml"))?;
    let path = format!("{}:{}", python::cmake()?.display(), std::env::var("PATH").unwrap_or_default());
    let mut done = 0;
    for (job, script) in scripts(&workflow) {
        if job == "pytorch" {
            continue;
        }
        let mut command = Command::new("bash");
        command.args(["-e", "-c", &script]).current_dir(&place).env("PATH", &path);
        command.env("SOFTACL_HOME", prefix()).stdin(Stdio::null());
        workspace::run(&mut command).with_context(|| format!("the job {job} of the workflow"))?;
        done += 1;
    }
    ensure!(done == 4, "the workflow has {done} commands for the tests, not 4");
    Ok(())
}

/// The scripts of a workflow with the names of their jobs. Knows only the layout of our own file.
fn scripts(workflow: &str) -> Vec<(String, String)> {
    let (mut job, mut found) = (String::new(), Vec::new());
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        let depth = line.len() - line.trim_start().len();
        match line.trim() {
            name if depth == 2 && name.ends_with(':') => job = name.trim_end_matches(':').to_owned(),
            "run: |" => {
                let mut script = String::new();
                while let Some(line) = lines.next_if(|line| line.starts_with("          ")) {
                    script.push_str(line.trim_start());
                    script.push('\n');
                }
                found.push((job.clone(), script));
            }
            _ => {}
        }
    }
    found
}

/// Runs the examples in C and Python and the demo under the checker: nothing may be proven but what they do
/// wrong on purpose.
pub fn check(seeds: u32) -> Result<()> {
    run()?;
    let purpose = workspace::root().join("examples/expected-findings.txt");
    let mut programs: Vec<String> = fs::read_dir(copy())?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.with_extension("c").exists() && path.extension().is_none())
        .map(|path| path.display().to_string())
        .collect();
    let python = python::interpreter()?;
    for entry in fs::read_dir(workspace::root().join("examples/python"))? {
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
    workspace::run(Command::new("bash").args(["-c", &script]).stdin(Stdio::null()))
}
