//! The functions of `libascendcl.so` that this library uses, found at run time.

use crate::failure::Failure;
use ascendcl_sys::ACL_ERROR_RT_CONTEXT_NULL;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::OnceLock;

/// `softaclRange` of the runtime.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub pointer: *mut c_void,
    pub size: usize,
    pub access: u32,
}

pub const READ: u32 = 1;
pub const WRITE: u32 = 2;

/// `softaclOperation` of the runtime.
#[repr(C)]
pub struct Operation {
    pub size: usize,
    pub begin: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub step: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub is_ready: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub describe: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> usize,
    pub end: unsafe extern "C" fn(*mut c_void),
    pub waits_inside: unsafe extern "C" fn(*mut c_void) -> c_int,
}

pub type LaunchOperation = unsafe extern "C" fn(
    *mut c_void,
    *const Operation,
    *mut c_void,
    Option<unsafe extern "C" fn(*mut c_void)>,
    *const Range,
    usize,
    *const c_char,
) -> c_int;
pub type HostView = unsafe extern "C" fn(*mut c_void, usize, *mut *mut c_void) -> c_int;
pub type ReportError = unsafe extern "C" fn(*const c_char);
pub type CurrentDevice = unsafe extern "C" fn(*mut i32) -> c_int;
pub type CurrentContext = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
pub type SetContext = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Functions of the runtime.
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    pub launch_operation: LaunchOperation,
    pub host_view: HostView,
    pub report_error: ReportError,
    pub current_device: CurrentDevice,
    pub current_context: CurrentContext,
    pub set_context: SetContext,
}

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

/// Uses these functions instead of those of the loaded library. For programs that contain the runtime; has an effect only
/// before the first call.
pub fn install(runtime: Runtime) {
    let _ = RUNTIME.set(Some(runtime));
}

/// The functions of the loaded runtime.
pub fn runtime() -> Result<&'static Runtime, Failure> {
    RUNTIME.get_or_init(find).as_ref().ok_or_else(|| {
        Failure::Runtime("libascendcl.so of softacl is not loaded: libhccl.so runs only together with it".to_owned())
    })
}

fn find() -> Option<Runtime> {
    // SAFETY: the names are strings. A library that is already loaded is preferred; the symbols have these types.
    unsafe {
        let library = libc::dlopen(c"libascendcl.so".as_ptr(), libc::RTLD_NOW);
        let symbol = |name: &std::ffi::CStr| {
            let mut found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            if found.is_null() && !library.is_null() {
                found = libc::dlsym(library, name.as_ptr());
            }
            (!found.is_null()).then_some(found)
        };
        Some(Runtime {
            launch_operation: transmute::<*mut c_void, LaunchOperation>(symbol(c"softaclLaunchOperation")?),
            host_view: transmute::<*mut c_void, HostView>(symbol(c"softaclHostView")?),
            report_error: transmute::<*mut c_void, ReportError>(symbol(c"softaclReportError")?),
            current_device: transmute::<*mut c_void, CurrentDevice>(symbol(c"aclrtGetDevice")?),
            current_context: transmute::<*mut c_void, CurrentContext>(symbol(c"aclrtGetCurrentContext")?),
            set_context: transmute::<*mut c_void, SetContext>(symbol(c"aclrtSetCurrentContext")?),
        })
    }
}

impl Runtime {
    /// The device of the calling thread. The API requires that one is set before any call.
    pub fn device(&self) -> Result<u32, Failure> {
        let mut device = 0;
        // SAFETY: the result is written to a variable that lives during the call.
        match unsafe { (self.current_device)(&raw mut device) } {
            0 => Ok(device as u32),
            ACL_ERROR_RT_CONTEXT_NULL => {
                Err(Failure::Runtime("this thread has no device: call aclrtSetDevice first".to_owned()))
            }
            code => Err(Failure::Runtime(format!("aclrtGetDevice failed with {code}"))),
        }
    }

    /// The context of the calling thread, or NULL.
    pub(crate) fn context(&self) -> *mut c_void {
        let mut context = std::ptr::null_mut();
        // SAFETY: the result is written to a variable that lives during the call.
        match unsafe { (self.current_context)(&raw mut context) } {
            0 => context,
            _ => std::ptr::null_mut(),
        }
    }

    /// Calls a function in a context, and returns to the one that the thread had.
    pub(crate) fn in_context<T>(&self, context: *mut c_void, call: impl FnOnce() -> T) -> T {
        let before = self.context();
        if context.is_null() || context == before {
            return call();
        }
        // SAFETY: the runtime checks the handle. If the context has ended, the call fails as in the thread's own.
        unsafe { (self.set_context)(context) };
        let result = call();
        // SAFETY: as above.
        unsafe { (self.set_context)(before) };
        result
    }

    /// The address through which `len` bytes of a buffer are accessed.
    pub(crate) fn view(&self, pointer: *mut c_void, len: usize, name: &str) -> Result<usize, Failure> {
        if len == 0 {
            return Ok(0);
        }
        if pointer.is_null() {
            return Err(Failure::null(name));
        }
        let mut view = std::ptr::null_mut();
        // SAFETY: the result is written to a variable that lives during the call.
        match unsafe { (self.host_view)(pointer, len, &raw mut view) } {
            0 => Ok(view as usize),
            _ => Err(Failure::Parameter(format!(
                "{name}: the {len} bytes at {pointer:p} are not inside one live allocation of device memory"
            ))),
        }
    }
}
