//! Where `libascendcl.so` is: in `../lib64` in an installation; in a build in `deps` or beside this program, under the
//! name of its crate. The stand-ins for other libraries are in `../stubs/lib64`, or are written when they are asked for.

use anyhow::{Context, Result, bail};
use std::env;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libascendcl.so";
/// What cargo calls it: a crate cannot choose the name of its file.
const BUILT: &str = "libascendcl_capi.so";
/// The names under which clients ask for the one library.
const NAMES: [&str; 2] = [LIBRARY, "libacl_rt.so"];

/// The name under which detection code asks for the tool that lists the chips.
pub const NPU_SMI: &str = "npu-smi";

/// What a program finds: directories for its environment.
pub struct Directories {
    /// Holds the library under all its names, for LD_LIBRARY_PATH.
    pub library: PathBuf,
    /// Holds the stand-ins for other libraries, for LD_LIBRARY_PATH behind it.
    pub stubs: Option<PathBuf>,
    /// Holds `npu-smi`, for PATH.
    pub tools: PathBuf,
    /// Holds the module `acl`, for PYTHONPATH; an installation has it.
    pub python: Option<PathBuf>,
}

pub fn directories(with_stubs: bool) -> Result<Directories> {
    let program = env::current_exe().and_then(fs::canonicalize).context("could not find this program's own path")?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let library = library(beside)?;
    let tools = match beside.join(NPU_SMI).is_file() {
        true => beside.to_owned(),
        false => {
            let tools = owned(&program)?.join("bin");
            fs::create_dir_all(&tools).with_context(|| format!("could not create {}", tools.display()))?;
            place_link(&program, &tools.join(NPU_SMI))?;
            tools
        }
    };
    let stubs = with_stubs.then(|| stubs(&program, beside)).transpose()?;
    let python = fs::canonicalize(beside.join("../python/site-packages")).ok();
    Ok(Directories { library, stubs, tools, python })
}

/// The stand-ins of the installation, or those that this program carries.
fn stubs(program: &Path, beside: &Path) -> Result<PathBuf> {
    let installed = beside.join("../stubs/lib64");
    if softacl_stubs::LIBRARIES.iter().all(|library| installed.join(library.name).is_file()) {
        return Ok(fs::canonicalize(installed)?);
    }
    let directory = owned(program)?.join("stubs");
    fs::create_dir_all(&directory).with_context(|| format!("could not create {}", directory.display()))?;
    for library in softacl_stubs::LIBRARIES {
        let path = directory.join(library.name);
        if fs::read(&path).is_ok_and(|there| there == library.bytes) {
            continue;
        }
        let fresh = directory.join(format!(".{}.{}", library.name, std::process::id()));
        fs::write(&fresh, library.bytes)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(directory)
}

fn library(beside: &Path) -> Result<PathBuf> {
    // Every build writes the one in `deps`; the one beside this program is older if only this program was built since.
    let places = [beside.join("../lib64").join(LIBRARY), beside.join("deps").join(BUILT), beside.join(BUILT)];
    let Some(found) = places.iter().find(|place| place.is_file()) else {
        let tried = places.map(|place| place.display().to_string()).join(", ");
        bail!("{LIBRARY} was not found; tried {tried}");
    };
    let directory = fs::canonicalize(found.parent().unwrap_or(Path::new("/")))?;
    let library = directory.join(found.file_name().unwrap_or_default());
    if found == &places[0] && NAMES.iter().all(|name| directory.join(name).exists()) {
        return Ok(directory);
    }
    link(&library)
}

/// A build has the library under another name: a directory of links adds those that clients ask for.
fn link(library: &Path) -> Result<PathBuf> {
    let links = owned(library)?;
    for name in NAMES {
        place_link(library, &links.join(name))?;
    }
    Ok(links)
}

/// A directory of this user for what belongs to a file of a build.
fn owned(file: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    let user = fs::metadata("/proc/self").map(|me| me.uid()).unwrap_or(0);
    let directory = env::temp_dir().join(format!("softacl-{user}-{:016x}", hasher.finish()));
    // Libraries are loaded from here: nobody else may write it, or have made it.
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => made.with_context(|| format!("could not create {}", directory.display()))?,
    }
    let status = fs::symlink_metadata(&directory)?;
    if !status.is_dir() || status.uid() != user || status.mode() & 0o022 != 0 {
        bail!("{} is not a directory that only user {user} can write: remove it", directory.display());
    }
    Ok(directory)
}

fn place_link(target: &Path, path: &Path) -> Result<()> {
    if fs::read_link(path).is_ok_and(|there| there == target) {
        return Ok(());
    }
    // Another run may do the same at this moment: the link appears whole or not at all.
    let fresh = path.with_extension(format!("new.{}", std::process::id()));
    symlink(target, &fresh)
        .and_then(|()| fs::rename(&fresh, path))
        .with_context(|| format!("could not link {}", path.display()))
}
