//! Files and links that are replaced atomically, because another process may write or read the same tree.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Writes a file unless it already has these contents.
pub fn write_file(path: &Path, contents: &[u8], mode: u32) -> io::Result<()> {
    if fs::read(path).is_ok_and(|existing| existing == contents) {
        return Ok(());
    }
    let fresh = temporary(path)?;
    fs::write(&fresh, contents)?;
    fs::set_permissions(&fresh, Permissions::from_mode(mode))?;
    fs::rename(&fresh, path)
}

/// Creates or replaces a symbolic link.
pub fn write_link(target: &Path, path: &Path) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|existing| existing == target) {
        return Ok(());
    }
    let fresh = temporary(path)?;
    symlink(target, &fresh)?;
    fs::rename(&fresh, path)
}

/// Creates the parent directory of `path` and returns a name in it for a file that will be renamed.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    let missing = || io::Error::other(format!("{} has no parent directory", path.display()));
    let (parent, name) = (path.parent().ok_or_else(missing)?, path.file_name().ok_or_else(missing)?);
    fs::create_dir_all(parent)?;
    let fresh = parent.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(fresh),
    }
}
