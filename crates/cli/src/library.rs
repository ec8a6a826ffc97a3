//! Finds `libascendcl.so`: in `../lib64` of an installation, or in `deps` or next to this program in a build, under the
//! name of its crate. The stubs of other libraries are in `../stubs/lib64`, or are written on demand.

use anyhow::{Context as _, Result, bail, ensure};
use ascendcl::raw::{self, Origin};
use ascendcl::{Context, Device};
use std::env;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libascendcl.so";
/// File name in a build. A crate cannot choose the name of its library.
const BUILT: &str = "libascendcl_capi.so";
/// Names under which programs load the library.
const NAMES: [&str; 2] = [LIBRARY, "libacl_rt.so"];

/// Name under which detection code runs the tool that lists the chips.
pub const NPU_SMI: &str = "npu-smi";

/// Directories for the environment of a program.
pub struct Directories {
    /// Contains the library under all its names, for LD_LIBRARY_PATH.
    pub library: PathBuf,
    /// Contains the stubs of other libraries, for LD_LIBRARY_PATH after `library`.
    pub stubs: Option<PathBuf>,
    /// Contains `npu-smi`, for PATH.
    pub tools: PathBuf,
    /// Contains the module `acl`, for PYTHONPATH. `None` if this program is not installed.
    pub python: Option<PathBuf>,
}

pub fn directories(with_stubs: bool) -> Result<Directories> {
    let program = env::current_exe().and_then(fs::canonicalize).context("could not find the path of this program")?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    let library = library(directory)?;
    let tools = match directory.join(NPU_SMI).is_file() {
        true => directory.to_owned(),
        false => {
            let tools = private_directory(&program)?.join("bin");
            fs::create_dir_all(&tools).with_context(|| format!("could not create {}", tools.display()))?;
            place_link(&program, &tools.join(NPU_SMI))?;
            tools
        }
    };
    let stubs = with_stubs.then(|| stubs(&program, directory)).transpose()?;
    let python = fs::canonicalize(directory.join("../python/site-packages")).ok();
    Ok(Directories { library, stubs, tools, python })
}

/// Returns the directory of the installed stubs, or writes the embedded ones.
fn stubs(program: &Path, directory: &Path) -> Result<PathBuf> {
    let installed = directory.join("../stubs/lib64");
    if softacl_stubs::LIBRARIES.iter().all(|library| installed.join(library.name).is_file()) {
        return Ok(fs::canonicalize(installed)?);
    }
    let directory = private_directory(program)?.join("stubs");
    fs::create_dir_all(&directory).with_context(|| format!("could not create {}", directory.display()))?;
    for library in softacl_stubs::LIBRARIES {
        let path = directory.join(library.name);
        if fs::read(&path).is_ok_and(|existing| existing == library.bytes) {
            continue;
        }
        let fresh = directory.join(format!(".{}.{}", library.name, std::process::id()));
        fs::write(&fresh, library.bytes)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(directory)
}

fn library(directory: &Path) -> Result<PathBuf> {
    // Every build writes the library in `deps`. The one next to this program is stale if only the program was rebuilt.
    let candidates =
        [directory.join("../lib64").join(LIBRARY), directory.join("deps").join(BUILT), directory.join(BUILT)];
    let Some(found) = candidates.iter().find(|path| path.is_file()) else {
        let tried = candidates.map(|path| path.display().to_string()).join(", ");
        bail!("{LIBRARY} was not found; tried {tried}");
    };
    let directory = fs::canonicalize(found.parent().unwrap_or(Path::new("/")))?;
    let library = directory.join(found.file_name().unwrap_or_default());
    if found == &candidates[0] && NAMES.iter().all(|name| directory.join(name).exists()) {
        return Ok(directory);
    }
    link(&library)
}

/// Creates a directory of links that give the library of a build its public names.
fn link(library: &Path) -> Result<PathBuf> {
    let links = private_directory(library)?;
    for name in NAMES {
        place_link(library, &links.join(name))?;
    }
    Ok(links)
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

/// Opens device 0 of the softacl that is linked into this program.
pub fn bundled_device() -> Result<Context> {
    let is_bundled = *raw::loaded()? == Origin::Bundled;
    ensure!(is_bundled, "this command runs the softacl inside this program: unset ASCENDCL_LIBRARY");
    Ok(Device::new(0)?.new_context()?)
}

/// Creates or replaces a symbolic link.
fn place_link(target: &Path, path: &Path) -> Result<()> {
    if fs::read_link(path).is_ok_and(|existing| existing == target) {
        return Ok(());
    }
    // Another process may do the same concurrently; the rename makes the change atomic.
    let fresh = path.with_extension(format!("new.{}", std::process::id()));
    symlink(target, &fresh)
        .and_then(|()| fs::rename(&fresh, path))
        .with_context(|| format!("could not link {}", path.display()))
}
