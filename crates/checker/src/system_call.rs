//! System calls in words: what a thread that is in one waits for. Other numbers are not interpreted.

/// Describes a thread that is in a system call, as the rest of a sentence that begins with the thread.
pub(crate) fn describe(number: i64) -> String {
    match meaning(number) {
        Some((name, does)) => format!("{does} ({name})"),
        None => format!("is in system call {number}"),
    }
}

/// The name of a system call that can block, and what a thread in it does.
fn meaning(number: i64) -> Option<(&'static str, &'static str)> {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_poll => return Some(("poll", FILES)),
        libc::SYS_select => return Some(("select", FILES)),
        libc::SYS_epoll_wait => return Some(("epoll_wait", FILES)),
        libc::SYS_pause => return Some(("pause", "waits for a signal")),
        _ => {}
    }
    Some(match number {
        // An unbounded wait for a thread of the process is recognized before.
        libc::SYS_futex => ("futex", "waits for a lock or a condition variable"),
        libc::SYS_ppoll => ("ppoll", FILES),
        libc::SYS_pselect6 => ("pselect", FILES),
        libc::SYS_epoll_pwait => ("epoll_pwait", FILES),
        libc::SYS_epoll_pwait2 => ("epoll_pwait2", FILES),
        libc::SYS_nanosleep => ("nanosleep", "sleeps"),
        libc::SYS_clock_nanosleep => ("clock_nanosleep", "sleeps"),
        libc::SYS_read => ("read", "reads from a file, pipe or socket"),
        libc::SYS_readv => ("readv", "reads from a file, pipe or socket"),
        libc::SYS_write => ("write", "writes to a file, pipe or socket"),
        libc::SYS_writev => ("writev", "writes to a file, pipe or socket"),
        libc::SYS_recvfrom => ("recv", "waits for data from a socket"),
        libc::SYS_recvmsg => ("recvmsg", "waits for data from a socket"),
        libc::SYS_sendto => ("send", "sends data to a socket"),
        libc::SYS_sendmsg => ("sendmsg", "sends data to a socket"),
        libc::SYS_accept => ("accept", "waits for a connection"),
        libc::SYS_accept4 => ("accept4", "waits for a connection"),
        libc::SYS_connect => ("connect", "connects to a socket"),
        libc::SYS_wait4 => ("wait4", "waits for a child process"),
        libc::SYS_waitid => ("waitid", "waits for a child process"),
        libc::SYS_rt_sigtimedwait => ("sigtimedwait", "waits for a signal"),
        libc::SYS_rt_sigsuspend => ("sigsuspend", "waits for a signal"),
        libc::SYS_flock => ("flock", "waits for the lock of a file"),
        libc::SYS_fcntl => ("fcntl", "is in a request about a file"),
        libc::SYS_fsync => ("fsync", "waits until a file is on its disk"),
        libc::SYS_semop => ("semop", "waits for a semaphore of several processes"),
        libc::SYS_semtimedop => ("semtimedop", "waits for a semaphore of several processes"),
        libc::SYS_sched_yield => ("sched_yield", "lets other threads run"),
        libc::SYS_ioctl => ("ioctl", "is in a request to a driver"),
        _ => return None,
    })
}

const FILES: &str = "waits for files or sockets";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_system_calls_are_described_by_what_they_wait_for() {
        assert_eq!(describe(libc::SYS_futex), "waits for a lock or a condition variable (futex)");
        assert_eq!(describe(libc::SYS_wait4), "waits for a child process (wait4)");
        assert_eq!(describe(9999), "is in system call 9999");
    }
}
