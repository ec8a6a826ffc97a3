//! The threads of this process as the system sees them: whether each one runs, waits for another thread, or waits for
//! something that the outside can end. Linux only: read from `/proc/self/task`.

use crate::backtrace::is_runtime_address;
use std::fs;

/// A thread of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SystemThread {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) activity: Activity,
    /// How often the thread was put to sleep. A thread that did not run in between has the same number.
    pub(crate) switches: u64,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It waits, without a timeout, for a lock, a condition, a semaphore or the end of a thread of this process. The
    /// address is that of the word that another thread changes.
    WaitsForThread(u64),
    /// It runs, or its state is unknown.
    Runs,
    /// It is in a system call that time, another process or the network can end.
    InSystemCall(i64),
}

/// Names of threads that run no code of the program, as the system abbreviates them.
const ENGINE_THREADS: [&str; 5] =
    ["softacl-poll", "softacl-progres", "softacl-worker-", "softacl-report", "softacl-watch"];
/// The thread for host functions.
pub(crate) const HOST_FUNCTION_THREAD: &str = "softacl-host";

/// Signals whose handler a program may use to wake its threads. Not SIGINT, which asks a program to end, and not those
/// of faults.
const WAKING_SIGNALS: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGURG,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGWINCH,
    libc::SIGIO,
];

/// The threads of this process, without those that only serve the engine. `None` if the system does not say.
pub(crate) fn threads() -> Option<Vec<SystemThread>> {
    let mut maps = None;
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A thread that ended since is absent.
        let Ok(name) = fs::read_to_string(entry.path().join("comm")) else { continue };
        let name = name.trim_end().to_owned();
        if ENGINE_THREADS.iter().any(|engine| name.starts_with(engine)) {
            continue;
        }
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        let Ok(call) = fs::read_to_string(entry.path().join("syscall")) else { continue };
        let is_shared = |address| {
            let maps = maps.get_or_insert_with(|| fs::read_to_string("/proc/self/maps").unwrap_or_default());
            is_shared_mapping(maps, address)
        };
        all.push(SystemThread { id, name, activity: activity(&call, is_shared), switches: switches(&status) });
    }
    all.sort_unstable_by_key(|thread| thread.id);
    Some(all)
}

/// Parses a line of `/proc/PID/task/TID/syscall`: the number of the system call and its arguments.
fn activity(line: &str, is_shared: impl FnOnce(u64) -> bool) -> Activity {
    let mut words = line.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else { return Activity::Runs };
    let argument = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let arguments: Vec<u64> = words.filter_map(argument).collect();
    let ([word, operation, _, timeout, ..], true) = (arguments.as_slice(), number == libc::SYS_futex) else {
        return if number < 0 { Activity::Runs } else { Activity::InSystemCall(number) };
    };
    let is_private = operation & libc::FUTEX_PRIVATE_FLAG as u64 != 0;
    let command = (*operation as i32) & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET, libc::FUTEX_LOCK_PI, libc::FUTEX_WAIT_REQUEUE_PI];
    if waits.contains(&command) && *timeout == 0 && (is_private || !is_shared(*word)) {
        Activity::WaitsForThread(*word)
    } else {
        Activity::InSystemCall(number)
    }
}

/// True if an address belongs to memory that other processes may map. True if it is unknown.
fn is_shared_mapping(maps: &str, address: u64) -> bool {
    maps.lines()
        .find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
            (start..end).contains(&address).then(|| rest.as_bytes().get(3) != Some(&b'p'))
        })
        .unwrap_or(true)
}

fn switches(status: &str) -> u64 {
    let count = |line: &str| line.split_once("ctxt_switches:").and_then(|(_, count)| count.trim().parse::<u64>().ok());
    status.lines().filter_map(count).sum()
}

/// True if the program has a signal handler with which it may wake a thread.
pub(crate) fn has_waking_handler() -> bool {
    WAKING_SIGNALS.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()).any(|signal| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the query fills the action, and zeroes are a valid one.
        let action = unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init()
        };
        ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) && !is_runtime_address(action.sa_sigaction)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: i64, word: u64, operation: i32, timeout: u64) -> String {
        format!("{number} {word:#x} {operation:#x} 0x2 {timeout:#x} 0x0 0x0 0x7ffc0000 0x7f00aa\n")
    }

    #[test]
    fn only_unbounded_futex_waits_of_this_process_wait_for_a_thread() {
        let (futex, private) = (libc::SYS_futex, libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG);
        let waits = Activity::WaitsForThread(0x1000);
        assert_eq!(activity(&line(futex, 0x1000, private, 0), |_| unreachable!()), waits);
        assert_eq!(activity(&line(futex, 0x1000, private | libc::FUTEX_CLOCK_REALTIME, 0), |_| unreachable!()), waits);
        // The end of a thread is announced with a futex that is not private.
        assert_eq!(activity(&line(futex, 0x1000, libc::FUTEX_WAIT, 0), |_| false), waits);
        let outside = Activity::InSystemCall(futex);
        assert_eq!(activity(&line(futex, 0x1000, libc::FUTEX_WAIT, 0), |_| true), outside);
        assert_eq!(activity(&line(futex, 0x1000, private, 0x7ffc1234), |_| false), outside, "a timeout");
        assert_eq!(activity(&line(futex, 0x1000, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 0), |_| false), outside);
        assert_eq!(activity(&line(libc::SYS_poll, 0, 0, 0), |_| false), Activity::InSystemCall(libc::SYS_poll));
        assert_eq!(activity("running\n", |_| false), Activity::Runs);
        assert_eq!(activity("-1 0x7ffc0000 0x7f00aa\n", |_| false), Activity::Runs);
        assert_eq!(activity("", |_| false), Activity::Runs);
    }

    #[test]
    fn mappings_that_other_processes_may_have_are_shared() {
        let maps = "1000-2000 rw-p 00000000 00:00 0 [heap]\n2000-3000 rw-s 00000000 00:05 7 /dev/shm/x\n";
        assert!(!is_shared_mapping(maps, 0x1fff));
        assert!(is_shared_mapping(maps, 0x2000));
        assert!(is_shared_mapping(maps, 0x9000), "unknown memory may be shared");
    }

    #[test]
    fn own_threads_are_listed_with_their_activity() {
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let parked = std::thread::Builder::new().name("parked-thread".into()).spawn(move || receive.recv()).unwrap();
        let waits = |thread: &SystemThread| {
            thread.name == "parked-thread" && matches!(thread.activity, Activity::WaitsForThread(_))
        };
        while !threads().expect("/proc is mounted").iter().any(waits) {
            std::thread::yield_now();
        }
        drop(send);
        assert!(parked.join().unwrap().is_err());
    }
}
