//! Paths of the source tree, and cargo invocations that build its parts.

use crate::conformance::Options;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Variable for the time without a call after which the `early`, `late` and `random` schedules run ready tasks.
pub const PROGRESS_TIMEOUT_VARIABLE: &str = "SOFTACL_PROGRESS_TIMEOUT_MS";

/// Crates with products that are installed: the command and the libraries.
pub const PRODUCTS: [&str; 4] = ["softacl", "ascendcl-capi", "softacl-opapi", "softacl-hccl"];
/// The crate of the Python module.
pub const PYTHON_MODULE: &str = "softacl-python";

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the workspace").to_owned()
}

/// Returns cargo's target directory.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns a cargo command that runs in the root of the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command. Fails, naming the command, if its exit code is not 0.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// Builds the command line and the library. Returns the directory that contains `libascendcl.so`.
pub fn build_library() -> Result<PathBuf> {
    build_library_for(None)
}

/// Builds the command line and the library for a target, or for the host if `triple` is `None`. Returns the directory
/// that contains `libascendcl.so`.
pub fn build_library_for(triple: Option<&str>) -> Result<PathBuf> {
    let packages = PRODUCTS.map(|name| ["--package", name]);
    let packages = packages.as_flattened();
    let target_option = triple.iter().flat_map(|triple| ["--target", triple]);
    run(cargo().args(["build", "--release", "--locked"]).args(packages).args(target_option))?;
    let directory = target().join(triple.unwrap_or_default()).join("release");
    name_library(&directory)?;
    Ok(directory)
}

/// Gives the libraries their names. Clients load libascendcl.so; cargo names the file after the crate. The objects and the
/// operators of aclnn are one library with two names.
pub fn name_library(directory: &Path) -> Result<()> {
    if directory.join("libopapi.so").exists() {
        link("libopapi.so", directory, "libnnopbase.so")?;
    }
    link("libascendcl_capi.so", directory, "libascendcl.so")
}

fn link(built: &str, directory: &Path, name: &str) -> Result<()> {
    let library = directory.join(name);
    if let Err(error) = fs::remove_file(&library)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error).with_context(|| format!("replacing {}", library.display()));
    }
    fs::hard_link(directory.join(built), &library).with_context(|| format!("creating {}", library.display()))
}

/// Returns the default options of the conformance runner for a library.
pub fn conformance_options(library_dir: PathBuf) -> Options {
    Options {
        library_dir,
        include_dir: root().join("include"),
        source_dir: root().join("conformance"),
        build_dir: target().join("conformance"),
        observer: None,
        sanitizer: None,
        filter: None,
        real_hardware: false,
        soc: None,
        target: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_crate_with_a_shared_library_is_a_product() {
        let output = cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]).output().unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_shared = |target: &serde_json::Value| {
            target["crate_types"].as_array().is_some_and(|types| types.iter().any(|kind| kind == "cdylib"))
        };
        let packages = metadata["packages"].as_array().unwrap().iter();
        let shared: BTreeSet<&str> = packages
            .filter(|package| package["targets"].as_array().is_some_and(|targets| targets.iter().any(is_shared)))
            .filter_map(|package| package["name"].as_str())
            .collect();
        let built: BTreeSet<&str> = PRODUCTS.into_iter().chain([PYTHON_MODULE]).collect();
        // The command is a program.
        let libraries: BTreeSet<&str> = built.into_iter().filter(|name| *name != "softacl").collect();
        assert_eq!(shared, libraries);
    }
}
