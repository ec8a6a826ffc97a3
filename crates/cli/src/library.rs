//! Finds the toolkit tree that programs use: that of the installation, or a private one that gives the libraries of a
//! build or a wheel their public names and the links between directories.

use anyhow::{Context as _, Result, bail};
use softacl_toolkit::write_link;
use std::env;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libascendcl.so";
/// File name in a build. A crate cannot choose the name of its library.
const BUILT: &str = "libascendcl_capi.so";

/// Parts that only a complete installation has.
const INSTALLED: [&str; 4] = ["set_env.sh", "lib64/libascendcl.so", "bin/npu-smi", "latest"];

/// The operator interface.
const OPERATORS: &str = "libopapi.so";

/// Collective communication.
const COLLECTIVES: &str = "libhccl.so";

/// Name under which detection code runs the tool that lists the chips.
pub const NPU_SMI: &str = "npu-smi";
/// Name under which detection code runs the tool that lists network addresses.
pub const HCCN_TOOL: &str = "hccn_tool";

/// Returns the root of the toolkit tree.
pub fn home() -> Result<PathBuf> {
    let program = env::current_exe().and_then(fs::canonicalize).context("could not find the path of this program")?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    let installed = directory.join("..");
    // A wheel has these files, too, but no links to directories, such as `latest`: it gets a private tree.
    let is_installed = INSTALLED.iter().all(|part| installed.join(part).exists());
    if is_installed { Ok(fs::canonicalize(installed)?) } else { private_tree(&program, directory) }
}

/// Writes a tree with links to the files of a build or of a wheel.
fn private_tree(program: &Path, directory: &Path) -> Result<PathBuf> {
    let home = private_directory(program)?.join("toolkit");
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(&home)?;
        softacl_toolkit::write(&home, &softacl_profiles::cann_versions()[0].version)?;
        for tool in ["softacl", NPU_SMI, HCCN_TOOL] {
            write_link(program, &home.join("bin").join(tool))?;
        }
        // The package of a wheel is the directory above that of the program, and contains the headers.
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let package = directory.join("..");
        let parts = [
            ("include", [package.join("include"), sources.join("include")]),
            ("python/site-packages/softacl", [package.clone(), sources.join("python/softacl")]),
        ];
        for (part, places) in parts {
            let is_there = |path: &&PathBuf| path.join("acl/acl.h").is_file() || path.join("__init__.py").is_file();
            if let Some(found) = places.iter().find(is_there) {
                write_link(&fs::canonicalize(found)?, &home.join(part))?;
            }
        }
        let module = directory.join("../../acl.abi3.so");
        if module.is_file() {
            write_link(&fs::canonicalize(module)?, &home.join("python/site-packages/acl.abi3.so"))?;
        }
        Ok(())
    };
    write().with_context(|| format!("could not write the toolkit tree in {}", home.display()))?;
    write_link(&library(directory)?, &home.join(softacl_toolkit::LIBRARIES).join(LIBRARY))?;
    for (name, place) in [(OPERATORS, softacl_toolkit::ACLNN_LIBRARIES), (COLLECTIVES, softacl_toolkit::LIBRARIES)] {
        let packaged = directory.join("..").join(place);
        let candidates = [packaged, directory.join("deps"), directory.to_owned()].map(|from| from.join(name));
        if let Some(built) = candidates.iter().find(|path| path.is_file()) {
            write_link(built, &home.join(place).join(name))?;
        }
    }
    Ok(home)
}

fn library(directory: &Path) -> Result<PathBuf> {
    // Every build writes the library in `deps`. The one next to this program is stale if only the program was rebuilt.
    let candidates =
        [directory.join("../lib64").join(LIBRARY), directory.join("deps").join(BUILT), directory.join(BUILT)];
    match candidates.iter().find(|path| path.is_file()) {
        Some(found) => Ok(fs::canonicalize(found)?),
        None => {
            let tried = candidates.map(|path| path.display().to_string()).join(", ");
            bail!(
                "{LIBRARY} was not found; tried {tried}; `cargo install` builds the command only: \
                 `pip install softacl` or a package of the release has both"
            )
        }
    }
}

/// Returns a directory, private to this user, for files that belong to a file of a build.
fn private_directory(file: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    let user = fs::metadata("/proc/self").map(|status| status.uid()).unwrap_or(0);
    let directory = env::temp_dir().join(format!("softacl-{user}-{:016x}", hasher.finish()));
    // Libraries are loaded from here: only this user may have created it or may write to it.
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => made.with_context(|| format!("could not create {}", directory.display()))?,
    }
    let status = fs::symlink_metadata(&directory)?;
    if !status.is_dir() || status.uid() != user || status.mode() & 0o022 != 0 {
        bail!("{} is not a directory that only user {user} can write; remove it", directory.display());
    }
    Ok(directory)
}

/// Returns the path of the library that programs use.
pub fn path() -> Result<PathBuf> {
    Ok(home()?.join(softacl_toolkit::LIBRARIES).join(LIBRARY))
}
