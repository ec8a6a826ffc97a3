//! Runs the examples as a user does: built with make against an installation, and under the checker.

use crate::files::copy_tree;
use crate::{install, python, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Directory of the installation.
pub fn prefix() -> PathBuf {
    workspace::target().join("install-check/softacl")
}

/// Directory of the copied C examples.
fn copy() -> PathBuf {
    workspace::target().join("examples-check")
}

/// Builds a copy of the C examples and runs them.
pub fn run() -> Result<()> {
    install::install(&prefix())?;
    copy_tree(&workspace::root().join("examples/c"), &copy())?;
    in_shell(&format!("make -s -C {} run", copy().display()))
}

/// Runs the commands of the workflow in `examples/clients`, job by job, in the layout of a CI runner: the project is
/// the working directory and softacl a directory in it. `cargo xtask test-torch` covers the PyTorch job.
pub fn clients() -> Result<()> {
    let directory = workspace::target().join("clients-check");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    copy_tree(&workspace::root().join("examples/clients"), &directory.join("examples/clients"))?;
    std::os::unix::fs::symlink(workspace::root(), directory.join("softacl"))?;
    let workflow = fs::read_to_string(workspace::root().join("examples/clients/github/softacl.yml"))?;
    let path = format!("{}:{}", python::cmake()?.display(), std::env::var("PATH").unwrap_or_default());
    let mut done = 0;
    for (job, script) in scripts(&workflow) {
        if job == "pytorch" {
            continue;
        }
        let mut command = Command::new("bash");
        command.args(["-e", "-c", &script]).current_dir(&directory).env("PATH", &path);
        command.env("SOFTACL_HOME", prefix()).stdin(Stdio::null());
        workspace::run(&mut command).with_context(|| format!("job {job} of the workflow"))?;
        done += 1;
    }
    ensure!(done == 6, "the workflow has {done} scripts to test, expected 6");
    Ok(())
}

/// Returns the scripts of a workflow with the names of their jobs. Supports only the layout of the project's file.
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

/// Runs the C and Python examples and the demo under the checker. Fails if a finding is proven that
/// `examples/expected-findings.txt` does not list.
pub fn check(seeds: u32) -> Result<()> {
    run()?;
    let expected = workspace::root().join("examples/expected-findings.txt");
    let mut programs: Vec<String> = fs::read_dir(copy())?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.with_extension("c").exists() && path.extension().is_none())
        .map(|path| path.display().to_string())
        .collect();
    let python = python::interpreter()?;
    for entry in fs::read_dir(workspace::root().join("examples/python"))? {
        let path = entry?.path();
        // 07_numpy.py needs numpy, which is optional.
        if path.extension().is_some_and(|extension| extension == "py") && !path.ends_with("07_numpy.py") {
            programs.push(format!("{} {}", python.display(), path.display()));
        }
    }
    programs.push("softacl demo --blocks 128".to_owned());
    programs.sort();
    ensure!(programs.len() > 10, "found only {} programs", programs.len());
    let schedules = ["late", "early"].map(str::to_owned).into_iter();
    let schedules: Vec<String> = schedules.chain((1..=seeds).map(|seed| format!("random:{seed}"))).collect();
    for program in &programs {
        println!("{program}");
        for schedule in &schedules {
            let check = format!("softacl check --schedule {schedule} --suppress {} -- {program}", expected.display());
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
