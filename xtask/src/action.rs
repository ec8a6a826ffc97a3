//! Tests the scripts of the GitHub Action as a runner would call them: one program with a bug, one without.

use crate::{examples, install, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;

/// The step `action` of `cargo xtask test`.
pub fn test() -> Result<()> {
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
