//! Packages of the workspace and the dependencies between them, from `cargo metadata`.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate of the workspace.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// Manifest, relative to the root of the workspace.
    pub manifest: PathBuf,
    /// Dependencies on other crates of the workspace, sorted by name.
    pub dependencies: Vec<Dependency>,
    /// Library and binaries. Tests, examples, benchmarks and build scripts are not listed.
    pub targets: Vec<Target>,
}

impl Package {
    /// Directory, relative to the root of the workspace.
    pub fn directory(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }

    /// Name of the directory, for example `engine`.
    pub fn short_name(&self) -> String {
        self.directory().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// A dependency on another crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    pub name: String,
    pub is_dev: bool,
}

/// A library or a binary.
#[derive(Debug)]
pub struct Target {
    /// `lib`, or the name of the binary.
    pub name: String,
    /// Root source file.
    pub root: PathBuf,
}

#[derive(Deserialize)]
struct RawMetadata {
    packages: Vec<RawPackage>,
}

#[derive(Deserialize)]
struct RawPackage {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<RawDependency>,
    targets: Vec<RawTarget>,
}

#[derive(Deserialize)]
struct RawDependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct RawTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

/// Runs `cargo metadata` in `root` and returns the packages of the workspace, sorted by directory.
pub fn packages(root: &Path) -> Result<Vec<Package>> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(["metadata", "--format-version", "1", "--no-deps"]);
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    parse(&output.stdout, root)
}

/// Parses the output of `cargo metadata`.
pub fn parse(json: &[u8], root: &Path) -> Result<Vec<Package>> {
    let metadata: RawMetadata = serde_json::from_slice(json).context("parsing the output of cargo metadata")?;
    let mut packages: Vec<Package> = metadata.packages.into_iter().map(|package| convert(package, root)).collect();
    packages.sort_by(|a, b| a.manifest.cmp(&b.manifest));
    Ok(packages)
}

fn convert(package: RawPackage, root: &Path) -> Package {
    // A crate that names itself as a dev-dependency enables features for its tests.
    let in_workspace = package.dependencies.iter().filter(|d| d.path.is_some() && d.name != package.name);
    let mut dependencies: Vec<Dependency> =
        in_workspace.map(|d| Dependency { name: d.name.clone(), is_dev: d.kind.as_deref() == Some("dev") }).collect();
    dependencies.sort();
    dependencies.dedup();
    let is_library = |target: &RawTarget| {
        target.kind.iter().any(|kind| matches!(kind.as_str(), "lib" | "rlib" | "dylib" | "cdylib" | "proc-macro"))
    };
    let mut targets: Vec<Target> = package
        .targets
        .iter()
        .filter_map(|target| match (is_library(target), target.kind.iter().any(|kind| kind == "bin")) {
            (true, _) => Some(Target { name: "lib".to_owned(), root: target.src_path.clone() }),
            (false, true) => Some(Target { name: target.name.clone(), root: target.src_path.clone() }),
            _ => None,
        })
        .collect();
    targets.sort_by_key(|target| (target.name != "lib", target.name.clone()));
    let manifest = package.manifest_path.strip_prefix(root).unwrap_or(&package.manifest_path).to_owned();
    Package { name: package.name, manifest, dependencies, targets }
}
