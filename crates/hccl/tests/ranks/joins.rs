//! Ranks that do not come together.

use crate::api::*;
use crate::job::new_root;
use std::fs;
use std::ptr::null_mut;

/// A rank that the others do not join gives up, and keeps neither a descriptor nor a mapping.
pub fn failed() {
    for _ in 0..2 {
        let root = new_root();
        assert_eq!(open_groups(), (1, 1), "kept for the other ranks");
        let mut comm = null_mut();
        // SAFETY: the root info has its length, and the handle is written to a variable that lives during the call.
        let code = unsafe { HcclCommInitRootInfo(2, root.as_ptr().cast(), 0, &raw mut comm) };
        assert_eq!(code, 9, "{}", last_message());
        assert!(last_message().contains("these ranks have not joined: 1"), "{}", last_message());
        assert_eq!(open_groups(), (0, 0), "descriptors and mappings");
        // SAFETY: as above.
        let code = unsafe { HcclCommInitRootInfo(2, root.as_ptr().cast(), 1, &raw mut comm) };
        assert_eq!(code, 6, "too late: {}", last_message());
    }
}

/// Descriptors and mappings of groups that this process has.
fn open_groups() -> (usize, usize) {
    let is_group = |text: &str| text.contains("softacl-group-");
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    let open = targets.filter(|target| is_group(&target.to_string_lossy())).count();
    (open, fs::read_to_string("/proc/self/maps").unwrap().lines().filter(|line| is_group(line)).count())
}

/// Rank 1 takes its place and is killed; rank 2 never comes. Rank 0 does not wait for the time limit.
pub fn death(rank: u32, ranks: u32, root: &[u8]) {
    let mut comm = null_mut();
    // SAFETY: the root info has its length, and the handle is written to a variable that lives during the call.
    let join = |comm: &mut Pointer| unsafe { HcclCommInitRootInfo(ranks, root.as_ptr().cast(), rank, comm) };
    match rank {
        0 => {
            assert_eq!(join(&mut comm), 21, "{}", last_message());
            assert!(last_message().contains("rank 1 has ended"), "{}", last_message());
        }
        1 => {
            // The group only takes the place: waiting for the others comes at its end.
            check(HcclGroupStart());
            check(join(&mut comm));
            // SAFETY: ends the process without running anything else.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        _ => {}
    }
}

/// A root info names the host that made it, and ranks of other hosts say so.
pub fn foreign() {
    let root = new_root();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let (mut changed, mut comm) = (root.clone(), null_mut());
        change(&mut changed);
        // SAFETY: the root info has its length, and the handle is written to a variable that lives during the call.
        let code = unsafe { HcclCommInitRootInfo(1, changed.as_ptr().cast(), 0, &raw mut comm) };
        (code, last_message())
    };
    // The kernel, then the PID namespace, then the name of the host.
    let (code, text) = refused(&|root| {
        root[32] ^= 1;
        root[48..54].copy_from_slice(b"venus\0");
    });
    assert!(code == 5 && text.contains("comes from host venus, and this rank runs on "), "{code}: {text}");
    let (code, text) = refused(&|root| root[40] ^= 1);
    assert!(code == 5 && text.contains("another PID namespace of this host"), "{code}: {text}");
    let (code, text) = refused(&|root| root[0] ^= 1);
    assert!(code == 1 && text.contains("was not made by HcclGetRootInfo"), "{code}: {text}");
    let (code, text) = refused(&|root| root[48] ^= 1);
    assert_eq!(code, 0, "the name of the host does not matter: {text}");
}
