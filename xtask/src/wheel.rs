//! `cargo xtask wheel`: the Python wheel, with the module `acl`, the package `softacl`, and the tree of an installation
//! inside the package.
//!
//! A wheel has no links. What an installation has as links to directories is left out; the command of a wheel writes a
//! tree with all links to a private directory, as that of a build does. Links to files become small files.

use crate::files::{self, copy_tree, place};
use crate::portable::{self, Portable};
use crate::{documentation, install, python, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directory of the contents of the wheel, below the target directory.
pub const STAGE: &str = "wheel-stage";

/// Builds a wheel for this host. Returns its path.
pub fn build(output: &Path) -> Result<PathBuf> {
    let built = workspace::build_library()?;
    python::build_module()?;
    pack(&built, &format!("linux_{}", std::env::consts::ARCH), output)
}

/// Builds a wheel for every distribution with the glibc of manylinux_2_28 or newer. Returns its path.
pub fn build_portable(products: &Portable, output: &Path) -> Result<PathBuf> {
    pack(&products.directory, &format!("{}_{}", portable::PLATFORM, products.arch), output)
}

fn pack(built: &Path, platform: &str, output: &Path) -> Result<PathBuf> {
    let site = workspace::target().join(STAGE);
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    python::stage_module(&site, built)?;
    stage_tree(&site.join("softacl"), built)?;
    let script = workspace::root().join("python/wheel.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--stage").arg(&site).arg("--output").arg(output).args(["--platform", platform]);
    let done = command.output().context("starting python3")?;
    ensure!(done.status.success(), "building the wheel failed: {}", String::from_utf8_lossy(&done.stderr));
    Ok(PathBuf::from(String::from_utf8(done.stdout)?.trim()))
}

/// Writes the parts of an installation that a wheel can contain.
fn stage_tree(home: &Path, built: &Path) -> Result<()> {
    place(&built.join("softacl"), &home.join("bin/softacl"), 0o755)?;
    for tool in ["npu-smi", "hccn_tool"] {
        let text = format!("#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/softacl\" {tool} \"$@\"\n");
        softacl_toolkit::write_file(&home.join("bin").join(tool), text.as_bytes(), 0o755)?;
    }
    place(&built.join("libascendcl.so"), &home.join("lib64/libascendcl.so"), 0o755)?;
    for library in softacl_stubs::NAMES.iter().chain(softacl_stubs::EMPTY) {
        softacl_toolkit::write_file(&home.join("lib64").join(library.name), library.bytes, 0o755)?;
    }
    for library in softacl_stubs::LIBRARIES {
        let path = home.join(softacl_toolkit::STUB_LIBRARIES).join(library.name);
        softacl_toolkit::write_file(&path, library.bytes, 0o755)?;
    }
    place(&built.join("libhccl.so"), &home.join(softacl_toolkit::LIBRARIES).join("libhccl.so"), 0o755)?;
    for library in softacl_stubs::HCCL_NAMES {
        softacl_toolkit::write_file(&home.join(softacl_toolkit::LIBRARIES).join(library.name), library.bytes, 0o755)?;
    }
    let operators = home.join(softacl_toolkit::ACLNN_LIBRARIES);
    place(&built.join("libopapi.so"), &operators.join("libopapi.so"), 0o755)?;
    for library in softacl_stubs::OPERATOR_NAMES {
        softacl_toolkit::write_file(&operators.join(library.name), library.bytes, 0o755)?;
    }
    copy_tree(&workspace::root().join("include"), &home.join("include"))?;
    install::write_build_files(home)?;
    // Only bash and zsh can source it: its path is not known before the installation.
    files::write(&home.join("set_env.sh"), &softacl_toolkit::script(Path::new("/usr/lib/softacl")))?;
    documentation::stage(&built.join("softacl"), &home.join("share"))
}
