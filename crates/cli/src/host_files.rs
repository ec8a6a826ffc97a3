//! `softacl run --host-files`: shows files at fixed places of the system to one program, without writing to the system.
//!
//! The process moves to a private mount namespace. A directory that gets a file is covered there by an empty file system
//! in memory, in which every existing entry is mounted again and the new file is written. Other processes, and the
//! directories themselves, are unchanged; when the last process of the namespace ends, everything disappears.

use anyhow::{Context, Result, bail, ensure};
use softacl_toolkit::{HostFile, HostNode};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{env, ptr};

/// Shows the files to this process, which must have a single thread, and to the programs that it starts.
pub fn show(files: &[HostFile]) -> Result<()> {
    enter_namespaces(libc::CLONE_NEWNS)
        .context("--host-files needs a private mount namespace, which this system does not permit; run without it")?;
    show_here(files)
}

/// Shows the files in the mount namespace of this process, which must be a private one.
pub fn show_here(files: &[HostFile]) -> Result<()> {
    let current = env::current_dir();
    for (directory, files) in by_directory(files)? {
        cover(&directory, &files)
            .with_context(|| format!("--host-files could not show files in {}", directory.display()))?;
    }
    // The current directory is that of the covered tree until it is looked up again.
    if let Ok(current) = current {
        env::set_current_dir(&current).with_context(|| format!("returning to {}", current.display()))?;
    }
    Ok(())
}

/// Moves this process to private namespaces, one of which is a mount namespace: directly if it has the right to, otherwise
/// inside a user namespace in which it keeps its user and group.
pub fn enter_namespaces(kinds: i32) -> io::Result<()> {
    // SAFETY: the calls take and return plain numbers.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    if unshare(kinds).is_err() {
        unshare(libc::CLONE_NEWUSER | kinds)?;
        // Without this, a group cannot be mapped by a process without privileges.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE, None)
}

/// Groups the files by the deepest directory above them that exists, in an order in which a directory comes before
/// those inside it.
fn by_directory(files: &[HostFile]) -> Result<BTreeMap<PathBuf, Vec<&HostFile>>> {
    let mut groups: BTreeMap<PathBuf, Vec<&HostFile>> = BTreeMap::new();
    for file in files {
        let directory = file.path.ancestors().skip(1).find(|path| path.is_dir()).unwrap_or(Path::new("/"));
        ensure!(directory != Path::new("/"), "--host-files: no directory above {} exists", file.path.display());
        groups.entry(directory.to_owned()).or_default().push(file);
    }
    Ok(groups)
}

/// Covers a directory with a file system in memory that contains the existing entries and the given files.
fn cover(directory: &Path, files: &[&HostFile]) -> Result<()> {
    // The old directory stays reachable through the descriptor after it is covered.
    let old = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(directory)?;
    let entries =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>()?;
    let options = format!("mode={:o},size=1m", fs::metadata(directory)?.mode() & 0o7777);
    mount(Some(Path::new("softacl")), directory, Some("tmpfs"), libc::MS_NOSUID | libc::MS_NODEV, Some(&options))?;
    let replaced: BTreeSet<OsString> = files.iter().filter_map(|file| first_below(directory, &file.path)).collect();
    for name in entries.iter().filter(|name| !replaced.contains(*name)) {
        show_again(&old, directory, name)
            .with_context(|| format!("showing {} again", directory.join(name).display()))?;
    }
    for HostFile { path, node } in files {
        let Some(parent) = path.parent() else { bail!("{} has no parent directory", path.display()) };
        fs::create_dir_all(parent)?;
        match node {
            HostNode::Text(text) => fs::write(path, text),
            HostNode::Link(target) => symlink(target, path),
        }
        .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Returns the name of the entry of `directory` that leads to `path`.
fn first_below(directory: &Path, path: &Path) -> Option<OsString> {
    Some(path.strip_prefix(directory).ok()?.components().next()?.as_os_str().to_owned())
}

/// Mounts an entry of the covered directory again, or repeats it if it is a symbolic link.
fn show_again(old: &File, directory: &Path, name: &OsString) -> io::Result<()> {
    let source = Path::new("/proc/self/fd").join(old.as_raw_fd().to_string()).join(name);
    let target = directory.join(name);
    let kind = fs::symlink_metadata(&source)?.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(&source)?, target);
    }
    if kind.is_dir() {
        fs::create_dir(&target)?
    } else {
        fs::write(&target, "")?
    }
    mount(Some(&source), &target, None, libc::MS_BIND | libc::MS_REC, None)
}

fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: the call takes a number; this process has a single thread, so no thread expects the old namespace.
    if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn mount(
    source: Option<&Path>,
    target: &Path,
    kind: Option<&str>,
    flags: u64,
    options: Option<&str>,
) -> io::Result<()> {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(io::Error::other);
    let source = source.map(|path| text(path.as_os_str().as_bytes())).transpose()?;
    let target = text(target.as_os_str().as_bytes())?;
    let kind = kind.map(|kind| text(kind.as_bytes())).transpose()?;
    let options = options.map(|options| text(options.as_bytes())).transpose()?;
    let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    // SAFETY: every pointer is NULL or a string that lives until the end of this function.
    let result =
        unsafe { libc::mount(pointer(&source), target.as_ptr(), pointer(&kind), flags, pointer(&options).cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
