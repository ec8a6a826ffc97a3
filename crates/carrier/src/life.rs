//! Lives: whether another process still runs. A process that has ended and that its parent has not waited for (a zombie)
//! keeps its id and its entries in `/proc`, but does not run.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A process, as far as others can see whether it has ended.
#[derive(Debug)]
pub(crate) struct Life {
    process: u32,
    kind: LifeKind,
}

#[derive(Debug)]
enum LifeKind {
    /// This process, which runs.
    Own,
    /// A descriptor that is readable when the process has ended.
    Descriptor(OwnedFd),
    /// The kernel has no such descriptors: the process has an entry in `/proc` while it lives.
    Entry,
    Ended,
}

impl Life {
    pub(crate) fn of(process: u32) -> Life {
        let kind = if process == std::process::id() { LifeKind::Own } else { open(process) };
        Life { process, kind }
    }

    pub(crate) fn has_ended(&self) -> bool {
        match &self.kind {
            LifeKind::Own => false,
            LifeKind::Descriptor(descriptor) => is_readable(descriptor),
            LifeKind::Entry => !is_listed(self.process),
            LifeKind::Ended => true,
        }
    }
}

fn open(process: u32) -> LifeKind {
    // SAFETY: the call takes no pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    if descriptor >= 0 {
        // SAFETY: a new descriptor has no other owner.
        return LifeKind::Descriptor(unsafe { OwnedFd::from_raw_fd(descriptor as i32) });
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::ESRCH) => LifeKind::Ended,
        _ => LifeKind::Entry,
    }
}

fn is_readable(descriptor: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which lives for the whole call; the timeout is 0.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
}

/// True if `/proc` shows the process, and not as a zombie.
fn is_listed(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state follows the name, which may contain any character.
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::zeroed;
    use std::process::{Command, Stdio};

    #[test]
    fn process_whose_parent_has_not_waited_has_ended() {
        assert!(!Life::of(std::process::id()).has_ended());
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let (life, process) = (Life::of(child.id()), child.id());
        assert!(!life.has_ended() && is_listed(process));
        drop(child.stdin.take());
        // SAFETY: the structure is written by the call. The child stays a zombie.
        let waited = unsafe { libc::waitid(libc::P_PID, process, &mut zeroed(), libc::WEXITED | libc::WNOWAIT) };
        assert_eq!(waited, 0);
        assert!(life.has_ended() && Life::of(process).has_ended() && !is_listed(process));
        child.wait().unwrap();
        assert!(life.has_ended() && !is_listed(process));
    }
}
