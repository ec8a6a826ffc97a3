//! `cargo xtask install --prefix DIR`: installs a tree with the layout of a CANN installation, and removes it again.
//!
//! The tree is staged first, so that the list of its files is exact: `--uninstall` removes these files and no other, and
//! the packages contain the same tree. `install_check` uses an installation as a new user would.

use crate::files::{copy_tree, place, write};
use crate::{documentation, python, workspace};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// List of the installed files, relative to the prefix, one per line.
const FILES: &str = "share/softacl/files";

/// Builds softacl and installs it into `prefix`.
pub fn install(prefix: &Path) -> Result<()> {
    let built = workspace::build_library()?;
    python::build_module()?;
    fs::create_dir_all(prefix).with_context(|| format!("creating {}", prefix.display()))?;
    let prefix = fs::canonicalize(prefix)?;
    let staged = workspace::target().join("install-stage");
    stage(&staged, &prefix, &built)?;
    let files = contents(&staged)?;
    let stale = read_list(&prefix)?.difference(&files).cloned().collect();
    remove(&prefix, &stale)?;
    for file in &files {
        transfer(&staged.join(file), &prefix.join(file))?;
    }
    println!("installed softacl {VERSION} in {}, {} files", prefix.display(), files.len());
    println!("use it with: source {}/set_env.sh", prefix.display());
    Ok(())
}

/// Removes the files of an installation, and the directories that are empty then.
pub fn uninstall(prefix: &Path) -> Result<()> {
    let files = read_list(prefix)?;
    ensure!(!files.is_empty(), "{} does not exist: this is no installation", prefix.join(FILES).display());
    remove(prefix, &files)?;
    println!("removed {} files from {}", files.len(), prefix.display());
    Ok(())
}

/// Writes the tree of an installation to the empty directory `stage`, as it will stand in `home`. `built` has the
/// products of a build.
pub fn stage(stage: &Path, home: &Path, built: &Path) -> Result<()> {
    if stage.exists() {
        fs::remove_dir_all(stage)?;
    }
    fs::create_dir_all(stage)?;
    copy_tree(&workspace::root().join("include"), &stage.join("include"))?;
    softacl_toolkit::write(stage, cann_version())?;
    write(&stage.join("set_env.sh"), &softacl_toolkit::script(home))?;
    place(&built.join("libascendcl.so"), &stage.join("lib64/libascendcl.so"), 0o755)?;
    let operators = stage.join(softacl_toolkit::ACLNN_LIBRARIES).join("libopapi.so");
    place(&built.join("libopapi.so"), &operators, 0o755)?;
    place(&built.join("libhccl.so"), &stage.join("lib64/libhccl.so"), 0o755)?;
    place(&built.join("softacl"), &stage.join("bin/softacl"), 0o755)?;
    for tool in ["npu-smi", "hccn_tool"] {
        softacl_toolkit::write_link(Path::new("softacl"), &stage.join("bin").join(tool))?;
    }
    python::stage_module(&stage.join("python/site-packages"), built)?;
    write_build_files(stage)?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        place(&workspace::root().join(file), &stage.join("share/doc/softacl").join(file), 0o644)?;
    }
    documentation::stage(&built.join("softacl"), &stage.join("share"))?;
    let mut list: Vec<String> = contents(stage)?.into_iter().map(|path| path.display().to_string()).collect();
    list.push(FILES.to_owned());
    list.sort();
    write(&stage.join(FILES), &(list.join("\n") + "\n"))
}

/// Writes the files for pkg-config and CMake, and the version.
pub fn write_build_files(home: &Path) -> Result<()> {
    write(&home.join("lib64/pkgconfig/ascendcl.pc"), &PKG_CONFIG.replace("@VERSION@", VERSION))?;
    // CMake searches lib64 on some systems and lib on others.
    for directory in ["lib64", "lib"] {
        let cmake = home.join(directory).join("cmake/ascendcl");
        write(&cmake.join("ascendcl-config.cmake"), CMAKE)?;
        write(&cmake.join("ascendcl-config-version.cmake"), &CMAKE_VERSION.replace("@VERSION@", VERSION))?;
    }
    write(&home.join("share/softacl/version"), &format!("{VERSION}\n"))
}

/// The CANN version that softacl emulates by default.
fn cann_version() -> &'static str {
    &softacl_profiles::cann_versions()[0].version
}

/// Returns the files and links in a tree, and the directories without contents, relative to it.
fn contents(tree: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut directories = vec![tree.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = crate::files::entries(&directory)?;
        if entries.is_empty() && directory != tree {
            found.insert(directory.strip_prefix(tree)?.to_owned());
        }
        for path in entries {
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
            } else {
                found.insert(path.strip_prefix(tree)?.to_owned());
            }
        }
    }
    Ok(found)
}

/// Copies a file with its mode, a link as a link, and creates a directory.
fn transfer(from: &Path, to: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if from.is_symlink() {
        softacl_toolkit::write_link(&fs::read_link(from)?, to).with_context(|| format!("writing {}", to.display()))
    } else if from.is_dir() {
        fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))
    } else {
        place(from, to, fs::metadata(from)?.permissions().mode() & 0o777)
    }
}

/// Reads the list of an installation. Empty if there is none.
fn read_list(prefix: &Path) -> Result<BTreeSet<PathBuf>> {
    let path = prefix.join(FILES);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        text => text.with_context(|| format!("reading {}", path.display()))?,
    };
    let is_inside = |path: &Path| path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let files: BTreeSet<PathBuf> = text.lines().map(PathBuf::from).collect();
    for file in &files {
        ensure!(is_inside(file), "{}: {} is outside the installation", path.display(), file.display());
    }
    Ok(files)
}

/// Removes files that may be missing, and every directory above them that is empty afterwards.
fn remove(prefix: &Path, files: &BTreeSet<PathBuf>) -> Result<()> {
    let mut directories: BTreeSet<&Path> = BTreeSet::new();
    for file in files {
        let path = prefix.join(file);
        if path.is_dir() && !path.is_symlink() {
            directories.insert(file);
        } else if path.is_symlink() || path.exists() {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
        directories.extend(file.ancestors().skip(1));
    }
    // From the inside out: a directory follows its parent in this order.
    for directory in directories.into_iter().rev() {
        let path = prefix.join(directory);
        match fs::remove_dir(&path) {
            // Python writes compiled files beside the modules; they belong to the installation.
            Err(_) if directory.ends_with("softacl") && path.join("__pycache__").is_dir() => {
                fs::remove_dir_all(path.join("__pycache__"))?;
                let _ = fs::remove_dir(&path);
            }
            // Something else is in it, and stays.
            _ => {}
        }
    }
    Ok(())
}

const PKG_CONFIG: &str = "prefix=${pcfiledir}/../..
Name: ascendcl
Description: AscendCL runtime API, implemented by softacl
Version: @VERSION@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib64 -lascendcl
";

const CMAKE: &str = r#"# find_package(ascendcl CONFIG) defines the target ascendcl::ascendcl.
get_filename_component(_ascendcl_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET ascendcl::ascendcl)
  add_library(ascendcl::ascendcl SHARED IMPORTED)
  set_target_properties(ascendcl::ascendcl PROPERTIES
    IMPORTED_LOCATION "${_ascendcl_prefix}/lib64/libascendcl.so"
    IMPORTED_SONAME "libascendcl.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_ascendcl_prefix}/include")
endif()
unset(_ascendcl_prefix)
"#;

const CMAKE_VERSION: &str = r#"# Any version that is not newer than this one is compatible.
set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_takes_the_listed_files_and_leaves_others() {
        let prefix = std::env::temp_dir().join(format!("softacl-removal-{}", std::process::id()));
        for file in ["lib64/libascendcl.so", "bin/softacl", "bin/mine", FILES] {
            write(&prefix.join(file), "text").unwrap();
        }
        fs::create_dir_all(prefix.join("opp/vendors")).unwrap();
        softacl_toolkit::write_link(Path::new("."), &prefix.join("latest")).unwrap();
        let list = ["bin/softacl", "lib64/libascendcl.so", "latest", "opp/vendors", "bin/gone", FILES].join("\n");
        fs::write(prefix.join(FILES), list).unwrap();
        uninstall(&prefix).unwrap();
        let left: Vec<PathBuf> = contents(&prefix).unwrap().into_iter().collect();
        assert_eq!(left, [PathBuf::from("bin/mine")]);
        assert!(uninstall(&prefix).is_err(), "nothing is installed any more");
        fs::write(prefix.join("bin/mine"), "text").unwrap();
        write(&prefix.join(FILES), "../elsewhere\n").unwrap();
        assert!(uninstall(&prefix).unwrap_err().to_string().contains("outside the installation"));
        fs::remove_dir_all(&prefix).unwrap();
    }
}
