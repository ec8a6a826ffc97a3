//! The functions of `libascendcl.so` that this library calls.

use nnopbase::status::runtime_symbol;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// `softaclRange`: bytes that a kernel accesses.
#[repr(C)]
pub struct Range {
    pub address: *mut c_void,
    pub size: usize,
    pub access: u32,
}

pub const READ: u32 = 1;
pub const WRITE: u32 = 2;

type Function = unsafe extern "C" fn(*mut c_void) -> i32;
type Release = unsafe extern "C" fn(*mut c_void);
type Launch = unsafe extern "C" fn(
    *mut c_void,
    Option<Function>,
    *mut c_void,
    Option<Release>,
    *const Range,
    usize,
    *const c_char,
) -> i32;
type HostView = unsafe extern "C" fn(*mut c_void, usize, *mut *mut c_void) -> i32;

/// The runtime of the process.
#[derive(Clone, Copy)]
pub struct Runtime {
    pub launch: Launch,
    pub host_view: HostView,
}

/// Finds the runtime; `None` if the process has none, or one that is not softacl.
pub fn runtime() -> Option<Runtime> {
    static FOUND: OnceLock<Runtime> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Some(*found);
    }
    let launch = runtime_symbol(c"softaclLaunchKernel")?;
    let host_view = runtime_symbol(c"softaclHostView")?;
    // SAFETY: the header softacl.h declares the functions with these types.
    let found = unsafe {
        Runtime {
            launch: std::mem::transmute::<*mut c_void, Launch>(launch),
            host_view: std::mem::transmute::<*mut c_void, HostView>(host_view),
        }
    };
    Some(*FOUND.get_or_init(|| found))
}
