//! Where things are in the source tree, and how its parts are built.

use crate::conformance::Options;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the tree").to_owned()
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command and fails with its name when it does.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Builds the command line and the library; returns the directory that holds `libascendcl.so`.
pub fn build_library() -> Result<PathBuf> {
    build_library_for(None)
}

/// The same for another target than this machine, where there is one.
pub fn build_library_for(triple: Option<&str>) -> Result<PathBuf> {
    let packages = ["--package", "softacl", "--package", "ascendcl-capi"];
    let target_option = triple.iter().flat_map(|triple| ["--target", triple]);
    run(cargo().args(["build", "--release", "--locked"]).args(packages).args(target_option))?;
    let directory = target().join(triple.unwrap_or_default()).join("release");
    // The name that clients ask for. Cargo names the file after the crate.
    let library = directory.join("libascendcl.so");
    if let Err(error) = fs::remove_file(&library)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error).with_context(|| format!("could not replace {}", library.display()));
    }
    fs::hard_link(directory.join("libascendcl_capi.so"), &library)
        .with_context(|| format!("could not make {}", library.display()))?;
    Ok(directory)
}

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
