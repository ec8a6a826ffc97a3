//! `cargo xtask site`: builds the site from docs/ with MkDocs, which comes from PyPI, pinned with hashes. A link that
//! leads nowhere fails the build.

use crate::{python, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Builds the site. Returns its directory.
pub fn build() -> Result<PathBuf> {
    let sources = workspace::root().join("packaging/site");
    let environment = workspace::target().join("site-tools");
    let interpreter = environment.join("bin/python");
    if !interpreter.exists() {
        println!("installing MkDocs from PyPI into {}", environment.display());
        workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    let requirements = sources.join("requirements.txt");
    python::pip(&interpreter, &["--require-hashes", "--requirement", &requirements.display().to_string()])?;
    let site = workspace::target().join("site");
    let mut command = Command::new(environment.join("bin/mkdocs"));
    command.args(["build", "--strict", "--quiet", "--config-file"]).arg(sources.join("mkdocs.yml"));
    workspace::run(command.arg("--site-dir").arg(&site).current_dir(&sources))?;
    let index = fs::read_to_string(site.join("search/search_index.json")).context("the site has no search index")?;
    // Written again without escapes.
    let index = serde_json::from_str::<serde_json::Value>(&index)?.to_string();
    for text in ["aclrtMemcpyAsync", "source changed between submit and execution", "中转缓冲区"] {
        ensure!(index.contains(text), "the search index does not contain {text:?}");
    }
    println!("built {}", site.join("index.html").display());
    Ok(site)
}
