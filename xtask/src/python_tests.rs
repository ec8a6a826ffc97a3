//! The step `python` of `cargo xtask test`: the wheel in a virtual environment, and the examples on every interpreter.

use crate::python::{INTERPRETERS, clean, environment, pip, pyenv_interpreters};
use crate::{wheel, workspace};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Installs the wheel with pip into a virtual environment and runs the tests there. Then runs the examples on every
/// interpreter of the host.
pub fn test() -> Result<()> {
    let wheel = wheel::build(&workspace::target().join("wheels"))?;
    let environment = environment()?;
    let python = environment.join("bin/python");
    pip(&python, &["--force-reinstall", "--no-deps", &wheel.display().to_string()])?;
    for tests in ["python/tests", "python/aclnn"] {
        let mut pytest = clean(&python);
        pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(workspace::root().join(tests));
        workspace::run(&mut pytest)?;
    }
    let mut stubs = clean(&python);
    workspace::run(stubs.args(["-m", "mypy.stubtest", "acl"]).current_dir(&environment))?;
    other_interpreters(&workspace::target().join(wheel::STAGE))
}

/// Runs the examples on every installed interpreter. One build of the module serves all versions.
fn other_interpreters(stage: &Path) -> Result<()> {
    let mut names: Vec<String> = INTERPRETERS.iter().map(|name| (*name).to_owned()).collect();
    names.extend(pyenv_interpreters());
    for name in &names {
        let version = Command::new(name).args(["-c", "import sys; assert sys.version_info >= (3, 9)"]).output();
        if !version.is_ok_and(|output| output.status.success()) {
            println!("{name}: not installed, or older than 3.9");
            continue;
        }
        for example in
            ["01_copy.py", "02_batch.py", "03_descriptor.py", "04_events.py", "05_callbacks.py", "06_two_devices.py"]
        {
            let mut run = clean(Path::new(name));
            run.arg(workspace::root().join("examples/python").join(example))
                .env("PYTHONPATH", stage)
                .stdout(std::process::Stdio::null());
            workspace::run(&mut run).with_context(|| format!("{example} on {name}"))?;
        }
        println!("{name}: examples passed");
    }
    Ok(())
}
