//! Use locks: how a process shows the creator of a memory file that it uses the file. The kernel removes a lock together
//! with its process, so a process that was killed uses nothing.
//!
//! Only observed processes take them: they find mistakes, and protect nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;

/// The use of a memory file, until it is dropped.
#[derive(Debug)]
pub struct UseLock {
    _file: File,
}

impl UseLock {
    /// Shows that this process uses a file. `None` if the system refuses that.
    pub fn hold(file: &File) -> Option<UseLock> {
        let file = reopen(file).ok()?;
        lock(&file, libc::LOCK_SH).then_some(UseLock { _file: file })
    }
}

/// The other processes that use a file, in ascending order. Empty if they cannot be determined.
pub fn users(file: &File) -> Vec<u32> {
    let Ok(again) = reopen(file) else { return Vec::new() };
    // No process uses the file if it can be locked exclusively. The lock ends with `again`.
    if lock(&again, libc::LOCK_EX) {
        return Vec::new();
    }
    let (Ok(status), Ok(locks)) = (file.metadata(), fs::read_to_string("/proc/locks")) else { return Vec::new() };
    let name = format!("{:02x}:{:02x}:{}", libc::major(status.dev()), libc::minor(status.dev()), status.ino());
    holders(&locks, &name)
}

/// The processes other than this one that hold a shared lock of a file, from `/proc/locks`.
fn holders(locks: &str, name: &str) -> Vec<u32> {
    let holder = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "FLOCK", _, "READ", process, file, ..] if *file == name => process.parse().ok(),
            _ => None,
        }
    };
    let mut all: Vec<u32> = locks.lines().filter_map(holder).filter(|process| *process != std::process::id()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Opens a file again: a lock belongs to the opened file, not to the process.
fn reopen(file: &File) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Locks a file without waiting.
fn lock(file: &File, operation: libc::c_int) -> bool {
    // SAFETY: the descriptor is open, and the call takes no pointers.
    unsafe { libc::flock(file.as_raw_fd(), operation | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::memory_file;

    #[test]
    fn own_use_does_not_count() {
        let file = memory_file(c"softacl-test", 4096).unwrap();
        assert_eq!(users(&file), []);
        let first = UseLock::hold(&file).expect("a lock");
        let second = UseLock::hold(&file).expect("another lock");
        assert_eq!(users(&file), []);
        drop((first, second));
        assert!(lock(&reopen(&file).unwrap(), libc::LOCK_EX), "no process uses it");
    }

    #[test]
    fn holders_are_read_from_the_list_of_locks() {
        let text = "1: POSIX  ADVISORY  WRITE 7 00:01:5 0 EOF\n2: FLOCK  ADVISORY  READ 9 00:01:5 0 EOF\n\
                    3: FLOCK  ADVISORY  READ 8 00:01:5 0 EOF\n3: -> FLOCK  ADVISORY  READ 6 00:01:5 0 EOF\n\
                    4: FLOCK  ADVISORY  READ 9 00:01:5 0 EOF\n5: FLOCK  ADVISORY  READ 4 00:02:5 0 EOF\n";
        assert_eq!(holders(text, "00:01:5"), [8, 9]);
    }
}
