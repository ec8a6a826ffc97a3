//! Where `libascendcl.so` is: beside this program in a build, in `../lib64` in an installation.

use anyhow::{Context, Result, bail};
use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libascendcl.so";
/// The names under which clients ask for the one library.
const NAMES: [&str; 2] = [LIBRARY, "libacl_rt.so"];

/// A directory that holds the library under all its names, for LD_LIBRARY_PATH.
pub fn directory() -> Result<PathBuf> {
    let program = env::current_exe().and_then(fs::canonicalize).context("could not find this program's own path")?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let places = [beside.join("../lib64"), beside.to_owned(), beside.join("deps")];
    let Some(found) = places.iter().find(|place| place.join(LIBRARY).is_file()) else {
        let tried = places.map(|place| place.join(LIBRARY).display().to_string()).join(", ");
        bail!("{LIBRARY} was not found; tried {tried}");
    };
    let found = fs::canonicalize(found)?;
    if NAMES.iter().all(|name| found.join(name).exists()) {
        return Ok(found);
    }
    link(&found)
}

/// A build has the library under its first name only: a directory of links adds the others.
fn link(found: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    found.hash(&mut hasher);
    let user = fs::metadata("/proc/self").map(|me| me.uid()).unwrap_or(0);
    let links = env::temp_dir().join(format!("softacl-{user}-{:016x}", hasher.finish()));
    fs::create_dir_all(&links).with_context(|| format!("could not create {}", links.display()))?;
    let owner = fs::metadata(&links)?.uid();
    if owner != user {
        bail!("{} belongs to user {owner}, not to {user}: remove it", links.display());
    }
    let library = found.join(LIBRARY);
    for name in NAMES {
        let path = links.join(name);
        if fs::read_link(&path).is_ok_and(|target| target == library) {
            continue;
        }
        // Another run may do the same at this moment: the link appears whole or not at all.
        let fresh = links.join(format!(".{name}.{}", std::process::id()));
        symlink(&library, &fresh)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("could not link {}", path.display()))?;
    }
    Ok(links)
}
