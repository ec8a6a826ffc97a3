//! The host: address space, shared memory, pages, and what `/proc` and namespaces permit.

use super::diagnosis::Diagnosis;
use crate::output;
use crate::units::size;
use std::fs;
use std::path::Path;

/// Address space that a process with two devices of 64 GiB reserves, with room for their host memory.
const ADDRESS_SPACE: u64 = 512 << 30;
/// Mappings that large programs need.
const MAPPINGS: u64 = 65_530;

pub(super) fn diagnoses() -> Vec<Diagnosis> {
    vec![
        address_space(),
        overcommit(),
        mappings(),
        shared_memory(),
        huge_pages(),
        processes(),
        namespaces(),
        debugger(),
    ]
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn address_space() -> Diagnosis {
    const SUBJECT: &str = "address space";
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills the structure.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    match limit.rlim_cur {
        bytes if result == 0 && bytes < ADDRESS_SPACE => Diagnosis::problem(
            SUBJECT,
            format!("limited to {}; devices reserve their memory as address space", size(bytes as usize)),
            "ulimit -v unlimited, or --memory 1GiB",
        ),
        _ => Diagnosis::good(SUBJECT, "not limited"),
    }
}

fn overcommit() -> Diagnosis {
    const SUBJECT: &str = "overcommit";
    match number("/proc/sys/vm/overcommit_memory") {
        Some(2) => Diagnosis::problem(
            SUBJECT,
            "vm.overcommit_memory is 2: large reservations are refused",
            "sysctl vm.overcommit_memory=0, or --memory 1GiB",
        ),
        Some(_) => Diagnosis::good(SUBJECT, "memory is committed on first use"),
        None => Diagnosis::note(SUBJECT, "/proc/sys/vm/overcommit_memory cannot be read", "is /proc mounted?"),
    }
}

fn mappings() -> Diagnosis {
    const SUBJECT: &str = "mappings";
    match number("/proc/sys/vm/max_map_count") {
        Some(count) if count < MAPPINGS => Diagnosis::note(
            SUBJECT,
            format!("a process may have {count} mappings; the checker protects pages one by one"),
            format!("sysctl vm.max_map_count={MAPPINGS}"),
        ),
        Some(count) => Diagnosis::good(SUBJECT, format!("up to {count} per process")),
        None => Diagnosis::note(SUBJECT, "/proc/sys/vm/max_map_count cannot be read", "is /proc mounted?"),
    }
}

fn shared_memory() -> Diagnosis {
    const SUBJECT: &str = "shared memory";
    match output::free_bytes(Path::new("/dev/shm")) {
        Some(free) if free < 2 << 30 => Diagnosis::note(
            SUBJECT,
            format!("/dev/shm has {} free; traces use the directory of temporary files", size(free as usize)),
            "in a container: --shm-size 4g",
        ),
        Some(free) => Diagnosis::good(SUBJECT, format!("/dev/shm has {} free", size(free as usize))),
        None => Diagnosis::note(SUBJECT, "/dev/shm does not exist", "traces use the directory of temporary files"),
    }
}

fn huge_pages() -> Diagnosis {
    const SUBJECT: &str = "huge pages";
    let enabled = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = enabled.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    match chosen {
        Some("never") => Diagnosis::note(
            SUBJECT,
            "transparent huge pages are off; large copies are slower",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(word) => Diagnosis::good(SUBJECT, format!("transparent huge pages: {word}")),
        None => Diagnosis::note(SUBJECT, "the kernel has no transparent huge pages", "large copies are slower"),
    }
}

/// `softacl status` and the reports of hangs read `/proc` of other processes of this user.
fn processes() -> Diagnosis {
    const SUBJECT: &str = "/proc";
    let readable = ["status", "maps", "task"].iter().all(|name| Path::new("/proc/self").join(name).exists());
    match fs::read_dir("/proc/self/fd").is_ok() && readable {
        true => Diagnosis::good(SUBJECT, "readable"),
        false => Diagnosis::problem(
            SUBJECT,
            "/proc/self cannot be read; the checker and `softacl status` need it",
            "mount /proc in this container",
        ),
    }
}

/// `softacl run --host-files` needs a private mount namespace.
fn namespaces() -> Diagnosis {
    const SUBJECT: &str = "namespaces";
    // SAFETY: has no conditions, and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let clone = number("/proc/sys/kernel/unprivileged_userns_clone").unwrap_or(1);
    let most = number("/proc/sys/user/max_user_namespaces").unwrap_or(1);
    match is_root || (clone > 0 && most > 0) {
        true => Diagnosis::good(SUBJECT, "private mounts are possible (--host-files)"),
        false => Diagnosis::note(
            SUBJECT,
            "user namespaces are off, so `softacl run --host-files` does not work",
            "sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=1000",
        ),
    }
}

fn debugger() -> Diagnosis {
    const SUBJECT: &str = "debugger";
    let paths = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&paths).map(|path| path.join("gdb")).find(|path| path.is_file()) {
        Some(path) => Diagnosis::good(SUBJECT, format!("{} (softacl check --gdb)", path.display())),
        None => Diagnosis::note(SUBJECT, "gdb is not installed", "only needed for `softacl check --gdb`"),
    }
}
