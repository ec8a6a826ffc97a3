//! Registrations, configurations, settings and names.

use crate::api::*;
use crate::job::{Rank, new_root};
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

pub fn ask(rank: &Rank, root: &[u8]) {
    let comm = rank.comm;
    ranges(comm);
    windows(comm);
    settings();
    configuration(comm);
    error_strings();
    let mut other = null_mut();
    // SAFETY: the root info has its length, and the handle is written to a variable that lives during the call.
    let again = unsafe { HcclCommInitRootInfo(1, root.as_ptr().cast(), 0, &raw mut other) };
    assert_eq!(again, 6, "a root info makes one communicator: {}", last_message());
}

/// Ranges for zero copy.
fn ranges(comm: Pointer) {
    const LEN: usize = 1 << 20;
    let base = 0x7000_0000_0000_usize as Pointer;
    let handle = 8 as Pointer;
    // SAFETY: the addresses are compared, never accessed.
    unsafe {
        let activate = |at: usize, len| HcclCommActivateCommMemory(comm, base.wrapping_byte_add(at), len, 0, handle, 0);
        assert_eq!(HcclCommSetMemoryRange(comm, null_mut(), LEN, 0, 0), 2);
        assert_eq!(HcclCommSetMemoryRange(comm, base, 0, 0, 0), 1);
        assert_eq!(activate(0, LEN), 1, "not set yet");
        check(HcclCommSetMemoryRange(comm, base, LEN, 0, 0));
        assert_eq!(HcclCommSetMemoryRange(comm, base.wrapping_byte_add(LEN - 1), LEN, 0, 0), 1, "overlaps");
        check(HcclCommSetMemoryRange(comm, base.wrapping_byte_add(LEN), LEN, 0, 0));
        check(activate(LEN / 2, LEN / 2));
        assert_eq!(activate(LEN / 2, LEN), 1, "ends beyond the range");
        assert_eq!(HcclCommActivateCommMemory(comm, base, LEN, 0, null_mut(), 0), 2);
        check(HcclCommDeactivateCommMemory(comm, base));
        check(HcclCommUnsetMemoryRange(comm, base));
        assert_eq!(HcclCommUnsetMemoryRange(comm, base), 6, "removed before");
        assert_eq!(HcclCommDeactivateCommMemory(comm, base), 6);
        check(HcclCommUnsetMemoryRange(comm, base.wrapping_byte_add(LEN)));
    }
}

fn windows(comm: Pointer) {
    let memory = Buffer::new(&[0; 4096]);
    let mut window = null_mut();
    let mut peers = [0_u32, 1];
    // SAFETY: results are written to variables that live during the calls; addresses outside an allocation are refused.
    unsafe {
        assert_eq!(HcclCommRegister(comm, memory.pointer, 1 << 40, &raw mut window, 0), 1, "longer than the memory");
        assert_eq!(HcclCommRegister(comm, memory.pointer, 4096, null_mut(), 0), 2);
        check(HcclCommRegister(comm, memory.pointer, 4096, &raw mut window, 0));
        check(HcclCommExchangeMem(comm, window, peers.as_mut_ptr(), 1));
        assert_eq!(HcclCommExchangeMem(comm, window, peers.as_mut_ptr().add(1), 1), 1, "there is no rank 1");
        check(HcclCommDeregister(comm, window));
        assert_eq!(HcclCommDeregister(comm, window), 6);
        assert_eq!(HcclCommExchangeMem(comm, window, peers.as_mut_ptr(), 1), 6);
        // What cannot be done says so.
        assert_eq!(HcclCommSuspend(comm), 5);
        assert_eq!(HcclCommResume(comm), 5);
        assert_eq!(HcclCommWorkingDevNicSet(comm, null_mut(), null_mut(), 0), 5);
    }
}

fn settings() {
    let mut value = -1;
    // SAFETY: the result is written to a variable that lives during the call.
    unsafe {
        for wanted in [1, 2, 0] {
            check(HcclSetConfig(0, wanted));
            check(HcclGetConfig(0, &raw mut value));
            assert_eq!(value, wanted);
        }
        assert_eq!((HcclSetConfig(0, 3), HcclSetConfig(1, 0)), (1, 1));
        assert_eq!((HcclGetConfig(1, &raw mut value), HcclGetConfig(0, null_mut())), (1, 2));
    }
    assert_eq!(HcclGetCommConfigCapability(), 12);
}

/// A communicator with a configuration has its name, and is found by it until it ends.
fn configuration(unnamed: Pointer) {
    let mut config = vec![0_u8; 2240];
    config[..8].copy_from_slice(&2240_u64.to_le_bytes());
    config[8..12].copy_from_slice(&0xf0f0_f0f0_u32.to_le_bytes());
    config[32..37].copy_from_slice(b"gamma");
    config[316..320].copy_from_slice(&(-1_i32).to_le_bytes());
    let (root, name) = (new_root(), CString::new("gamma").unwrap());
    let (mut comm, mut found, mut text) = (null_mut(), null_mut(), [1_u8; 128]);
    // SAFETY: the root info and the configuration have their lengths; results are written to variables that live during
    // the calls.
    unsafe {
        let (root, config) = (root.as_ptr().cast(), config.as_ptr().cast());
        assert_eq!(HcclCommInitRootInfoConfig(1, root, 0, std::ptr::null(), &raw mut comm), 2);
        check(HcclCommInitRootInfoConfig(1, root, 0, config, &raw mut comm));
        check(HcclGetCommName(comm, text.as_mut_ptr().cast()));
        assert_eq!(CStr::from_bytes_until_nul(&text).unwrap(), name.as_c_str());
        check(HcclCommGetHandleWithName(name.as_ptr(), &raw mut found));
        assert_eq!(found, comm);
        assert_ne!(found, unnamed);
        check(HcclCommDestroy(comm));
        assert_eq!(HcclCommGetHandleWithName(name.as_ptr(), &raw mut found), 6);
    }
}

/// Every code has a separate sentence, and all other numbers share one.
fn error_strings() {
    // SAFETY: the function returns a constant string for every number.
    let text = |code| unsafe { CStr::from_ptr(HcclGetErrorString(code)) }.to_str().unwrap();
    let mut all: Vec<&str> = (0..=23).map(text).collect();
    assert_eq!((text(0), text(23), text(-1)), ("no error", "unknown error", "unknown error"));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 24);
}
