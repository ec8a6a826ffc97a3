//! The Python module and the interpreters: builds and stages the module, and makes virtual environments.

use crate::files::place;
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Interpreters that run the examples, if installed. The first one also runs the tests.
pub const INTERPRETERS: [&str; 7] =
    ["python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"];

/// Builds the module for this host.
pub fn build_module() -> Result<()> {
    workspace::run(workspace::cargo().args(["build", "--release", "--package", workspace::PYTHON_MODULE, "--locked"]))
}

/// Copies the module of a build, its stubs and the package into a site-packages directory.
pub fn stage_module(site: &Path, built: &Path) -> Result<()> {
    place(&built.join("libacl.so"), &site.join("acl.abi3.so"), 0o755)?;
    for package in ["acl-stubs", "softacl"] {
        copy_sources(&workspace::root().join("python").join(package), &site.join(package))?;
    }
    Ok(())
}

/// Creates the virtual environment of the tests and installs their requirements.
pub fn environment() -> Result<PathBuf> {
    let environment = workspace::target().join("python-environment");
    let python = environment.join("bin/python");
    let requirements = workspace::root().join("python/requirements.txt");
    if !python.exists() {
        workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    pip(&python, &["--requirement", &requirements.display().to_string()])?;
    Ok(environment)
}

pub fn pip(python: &Path, arguments: &[&str]) -> Result<()> {
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    workspace::run(Command::new(python).args(options).args(arguments))
}

/// Returns a directory with CMake: the system's, or the one from PyPI, which needs no manual installation.
pub fn cmake() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&path).find(|directory| directory.join("cmake").is_file()) {
        Some(directory) => Ok(directory),
        None => Ok(environment()?.join("bin")),
    }
}

/// Returns the path of the interpreter behind `python3`, which may be a wrapper script.
pub fn interpreter() -> Result<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable, end='')"]).output();
    let output = output.context("starting python3")?;
    ensure!(output.status.success(), "python3 failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(PathBuf::from(String::from_utf8(output.stdout)?))
}

/// Returns the versions of the interpreters that run the examples.
pub fn versions() -> Vec<String> {
    let script = "import sys; assert sys.version_info >= (3, 9); print('%d.%d' % sys.version_info[:2], end='')";
    let version = |name: &String| {
        let output = Command::new(name).args(["-c", script]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut names: Vec<String> = INTERPRETERS.iter().map(|name| (*name).to_owned()).collect();
    names.extend(pyenv_interpreters());
    let mut found: Vec<String> = names.iter().filter_map(version).collect();
    found.sort_by_key(|version| version.split('.').filter_map(|part| part.parse::<u32>().ok()).collect::<Vec<_>>());
    found.dedup();
    found
}

/// Returns the interpreters that pyenv installed. Its shims hide them.
pub fn pyenv_interpreters() -> Vec<String> {
    let root = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let mut found: Vec<String> = versions
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin/python").display().to_string())
        .collect();
    found.sort();
    found
}

/// Returns a command for an interpreter, without variables of the shell that affect it.
pub fn clean(python: &Path) -> Command {
    let mut command = Command::new(python);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SOFTACL_")
            || text.starts_with("ASCEND_")
            || text.starts_with("PYTHON")
            || text == "LD_LIBRARY_PATH"
        {
            command.env_remove(&name);
        }
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let path = entry?.path();
        let name = path.file_name().context("a file has no name")?;
        if path.is_file() {
            place(&path, &to.join(name), 0o644)?;
        } else if name != "__pycache__" {
            copy_sources(&path, &to.join(name))?;
        }
    }
    Ok(())
}
