//! The crates that are published: which, in which order, and the check that cargo can build them from their packages.

use crate::workspace;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::PathBuf;

/// Packages every crate that is published and builds each from its package, without the rest of the repository.
/// Returns the directory of the packages and their names, each after those that it needs.
pub fn package(verify: bool) -> Result<(PathBuf, Vec<String>)> {
    let names = published()?;
    let mut command = workspace::cargo();
    command.args(["package", "--locked", "--allow-dirty"]);
    command.args(names.iter().flat_map(|name| ["--package", name]));
    if !verify {
        command.arg("--no-verify");
    }
    workspace::run(&mut command).context("packaging the crates")?;
    Ok((workspace::target().join("package"), names))
}

/// Returns the names of the crates that are published, in the order in which they must be.
pub fn published() -> Result<Vec<String>> {
    let output = workspace::cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]).output()?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut waiting: Vec<(String, Vec<String>)> = Vec::new();
    for package in packages {
        // `publish = false` is an empty list of registries.
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        check_description(package)?;
        let dependencies = package["dependencies"].as_array().context("a package has no dependencies")?;
        let needed = dependencies.iter().filter(|dependency| dependency["path"].is_string());
        let needed =
            needed.filter(|dependency| dependency["kind"] != "dev").map(|dependency| text(&dependency["name"]));
        waiting.push((text(&package["name"]), needed.collect()));
    }
    let mut ordered: Vec<String> = Vec::new();
    while !waiting.is_empty() {
        let (ready, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, needed)| needed.iter().all(|name| ordered.contains(name)));
        ensure!(!ready.is_empty(), "{rest:?} need crates that are not published");
        ordered.extend(ready.into_iter().map(|(name, _)| name));
        waiting = rest;
    }
    Ok(ordered)
}

/// Fails if crates.io or docs.rs would lack something.
fn check_description(package: &Value) -> Result<()> {
    let name = text(&package["name"]);
    for field in ["description", "license", "repository", "readme", "rust_version"] {
        ensure!(package[field].is_string(), "the crate {name} has no {field}");
    }
    let targets = package["metadata"]["docs"]["rs"]["targets"].as_array();
    ensure!(targets.is_some_and(|targets| !targets.is_empty()), "the crate {name} names no targets for docs.rs");
    Ok(())
}

/// Files that every package must contain. The license requires the last two.
const CONTENTS: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Lists what the package of each crate would contain, which needs no index and no build. Returns the number of files.
fn check_contents(names: &[String]) -> Result<usize> {
    let mut count = 0;
    for name in names {
        let options = ["package", "--list", "--locked", "--allow-dirty", "--offline", "--package", name];
        let output = workspace::cargo().args(options).output()?;
        let list = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "cargo package --list: {}", String::from_utf8_lossy(&output.stderr));
        for file in CONTENTS {
            ensure!(list.lines().any(|line| line == file), "the package of {name} does not contain {file}");
        }
        let is_source = |line: &str| line == "src/lib.rs" || line == "src/main.rs";
        ensure!(list.lines().any(is_source), "the package of {name} contains no source");
        count += list.lines().count();
    }
    Ok(count)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The step `crates` of `cargo xtask test`: everything that is published is ready to be, except for the build.
pub fn check() -> Result<()> {
    let names = published()?;
    let files = check_contents(&names)?;
    println!("{} crates can be published, with {files} files: {}", names.len(), names.join(", "));
    Ok(())
}
