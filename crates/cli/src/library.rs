//! Where `libascendcl.so` is: in `../lib64` in an installation; in a build beside this program, under the name
//! of its crate.

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

/// A directory that holds the library under all its names, for LD_LIBRARY_PATH.
pub fn directory() -> Result<PathBuf> {
    let program = env::current_exe().and_then(fs::canonicalize).context("could not find this program's own path")?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let places = [beside.join("../lib64").join(LIBRARY), beside.join(BUILT), beside.join("deps").join(BUILT)];
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
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let user = fs::metadata("/proc/self").map(|me| me.uid()).unwrap_or(0);
    let links = env::temp_dir().join(format!("softacl-{user}-{:016x}", hasher.finish()));
    // Libraries are loaded from here: nobody else may write it, or have made it.
    match DirBuilder::new().mode(0o700).create(&links) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => made.with_context(|| format!("could not create {}", links.display()))?,
    }
    let status = fs::symlink_metadata(&links)?;
    if !status.is_dir() || status.uid() != user || status.mode() & 0o022 != 0 {
        bail!("{} is not a directory that only user {user} can write: remove it", links.display());
    }
    for name in NAMES {
        let path = links.join(name);
        if fs::read_link(&path).is_ok_and(|target| target == library) {
            continue;
        }
        // Another run may do the same at this moment: the link appears whole or not at all.
        let fresh = links.join(format!(".{name}.{}", std::process::id()));
        symlink(library, &fresh)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("could not link {}", path.display()))?;
    }
    Ok(links)
}
