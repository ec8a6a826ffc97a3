//! Directory listings and copies of files.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the paths in a directory, sorted.
pub fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Returns the last component of a path.
pub fn last_part(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Copies a directory recursively.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let path = entry?.path();
        let target = to.join(path.file_name().context("an entry has no name")?);
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else {
            place(&path, &target, 0o644)?;
        }
    }
    Ok(())
}

/// Copies a file by renaming a temporary copy, so that programs that run from the old file keep it.
pub fn place(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let parent = to.parent().context("a file has no parent directory")?;
    fs::create_dir_all(parent)?;
    let fresh = parent.join(".softacl-new");
    fs::copy(from, &fresh).with_context(|| format!("copying {}", from.display()))?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(mode))?;
    fs::rename(&fresh, to).with_context(|| format!("writing {}", to.display()))
}

/// Writes a text file, and creates the directories above it.
pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file has no parent directory")?)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Returns the bytes of all files in a directory. Links count with their own size.
pub fn size_of_tree(tree: &Path) -> Result<u64> {
    let mut size = 0;
    for path in entries(tree)? {
        let status = fs::symlink_metadata(&path)?;
        size += if status.is_dir() { size_of_tree(&path)? } else { status.len() };
    }
    Ok(size)
}
