//! Tests the scripts of the GitHub Action as a runner would call them: the installation of a wheel, if one was built, and
//! two programs, one with a bug. The example workflow passes only inputs that the action has.

use crate::{examples, files, install, python, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The step `action` of `cargo xtask test`.
pub fn test() -> Result<()> {
    check_inputs()?;
    match wheel() {
        Some(wheel) => install_wheel(&wheel)?,
        None => println!("install.sh: not run, because dist and wheels contain no wheel"),
    }
    let prefix = examples::prefix();
    install::install(&prefix)?;
    for (program, code, finding) in [("load_cache.py", "2", true), ("fixed.py", "0", false)] {
        let directory = workspace::target().join("action-check");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&directory)?;
        let script = format!("source {}/set_env.sh && exec {}", prefix.display(), CHECK);
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(workspace::root());
        command.env("GITHUB_OUTPUT", directory.join("output")).env("GITHUB_STEP_SUMMARY", directory.join("summary.md"));
        command.env("SOFTACL_ACTION_RUN", format!("python3 examples/tutorial/{program}"));
        command.env("SOFTACL_ACTION_OPTIONS", "--soc Ascend910B --no-timeline");
        command.env("SOFTACL_ACTION_SARIF", directory.join("softacl.sarif"));
        let done = command.output().context("starting bash")?;
        let log = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{program}: the step must not fail:\n{log}");
        let read =
            |name: &str| fs::read_to_string(directory.join(name)).with_context(|| format!("{program}: {name}\n{log}"));
        ensure!(read("output")? == format!("exit-code={code}\n"), "{program}: {}\n{log}", read("output")?);
        ensure!(read("summary.md")?.contains("H1") == finding, "{program}: summary:\n{}", read("summary.md")?);
        ensure!(log.contains("::error file=examples/tutorial/load_cache.py") == finding, "{program}: log:\n{log}");
        let sarif: serde_json::Value = serde_json::from_str(&read("softacl.sarif")?)?;
        let results = sarif["runs"][0]["results"].as_array().map_or(0, Vec::len);
        ensure!((results == 1) == finding, "{program}: {results} results in the SARIF file");
        println!("{program}: exit code {code}, summary, annotation and SARIF file as expected");
    }
    Ok(())
}

const CHECK: &str = "packaging/action/check.sh";
const INSTALL: &str = "packaging/action/install.sh";

/// Fails if the example passes an input that the action does not have, or lacks one that it requires.
fn check_inputs() -> Result<()> {
    let read = |name: &str| fs::read_to_string(workspace::root().join(name)).with_context(|| format!("reading {name}"));
    let (action, example) = (read("action.yml")?, read("packaging/action/example.yml")?);
    let (known, step) = (section(&action, "inputs:"), step(&example, "uses: softacl/softacl@"));
    ensure!(!known.is_empty() && !step.is_empty(), "action.yml or the example has another form than this test expects");
    let given = section(&step.join("\n"), "with:");
    for name in keys(&given) {
        ensure!(keys(&known).contains(&name), "example.yml passes {name:?}, which action.yml does not have");
    }
    ensure!(keys(&given).contains(&"run".to_owned()), "example.yml does not say what to run");
    println!("the example passes {} inputs of action.yml", keys(&given).len());
    Ok(())
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines below a heading that are indented deeper than it.
fn section(text: &str, heading: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| line.trim() != heading);
    let Some(depth) = lines.next().map(indent) else { return Vec::new() };
    lines.take_while(|line| line.trim().is_empty() || indent(line) > depth).map(str::to_owned).collect()
}

/// The lines of a step, without the dash that begins it.
fn step(text: &str, start: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.trim_start_matches([' ', '-']).starts_with(start));
    let Some(first) = lines.next() else { return Vec::new() };
    lines.take_while(|line| indent(line) > indent(first)).map(str::to_owned).collect()
}

/// The keys of the outermost level.
fn keys(lines: &[String]) -> Vec<String> {
    let depth = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let outermost = lines.iter().filter(|line| !line.trim().is_empty() && indent(line) == depth);
    outermost.filter_map(|line| Some(line.trim().split_once(':')?.0.to_owned())).collect()
}

/// The newest wheel in the directories that README.md and RELEASING.md name.
fn wheel() -> Option<PathBuf> {
    let found = ["dist", "wheels"].into_iter().filter_map(|name| files::entries(&workspace::root().join(name)).ok());
    let wheels = found.flatten().filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels.max_by_key(|path| fs::metadata(path).and_then(|status| status.modified()).ok())
}

/// Runs `install.sh` with a wheel, in an empty environment.
fn install_wheel(wheel: &Path) -> Result<()> {
    let environment = workspace::target().join("action-environment");
    if environment.exists() {
        fs::remove_dir_all(&environment)?;
    }
    workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([environment.join("bin")].into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = python::clean(Path::new("bash"));
    command.arg(workspace::root().join(INSTALL)).env("PATH", path).env("PIP_NO_INDEX", "1");
    let done = command.env("SOFTACL_ACTION_VERSION", wheel).output().context("starting bash")?;
    let log = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "install.sh failed with {}:\n{log}", wheel.display());
    ensure!(log.contains(&format!("softacl {}", install::VERSION)), "install.sh installed something else:\n{log}");
    println!("install.sh: installed {}", wheel.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_an_example_are_found() {
        let text = "jobs:\n  steps:\n    - uses: other/action@v1\n      with:\n        x: 1\n    - uses: softacl/softacl@v1\n      \
                    with:\n        run: a: b\n        options: |\n          c: d\n    - run: e\n";
        let step = step(text, "uses: softacl/softacl@");
        assert_eq!(keys(&section(&step.join("\n"), "with:")), ["run", "options"]);
        assert!(section(text, "outputs:").is_empty());
    }
}
