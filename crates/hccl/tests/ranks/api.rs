//! The C functions that the tests call, of the runtime and of the library under test, and small helpers around them.

use ascendcl_capi as _;
use hccl::runtime::{self, Operation, Range, Runtime};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

pub use hccl::collectives::*;
pub use hccl::communicators::*;
pub use hccl::group_calls::*;
pub use hccl::points::*;
pub use hccl::queries::*;
pub use hccl::registration::*;

pub type Pointer = *mut c_void;

unsafe extern "C" {
    fn softaclLaunchOperation(
        stream: Pointer,
        operation: *const Operation,
        argument: Pointer,
        release: Option<unsafe extern "C" fn(Pointer)>,
        ranges: *const Range,
        count: usize,
        name: *const c_char,
    ) -> c_int;
    fn softaclHostView(pointer: Pointer, size: usize, view: *mut Pointer) -> c_int;
    fn softaclReportError(text: *const c_char);
    fn aclrtGetDevice(device: *mut i32) -> c_int;
    fn aclrtGetCurrentContext(context: *mut Pointer) -> c_int;
    fn aclrtSetCurrentContext(context: Pointer) -> c_int;
    fn aclInit(config: *const c_char) -> c_int;
    fn aclrtSetDevice(device: i32) -> c_int;
    fn aclrtCreateStream(stream: *mut Pointer) -> c_int;
    fn aclrtDestroyStream(stream: Pointer) -> c_int;
    pub fn aclrtSynchronizeStream(stream: Pointer) -> c_int;
    fn aclrtMalloc(pointer: *mut Pointer, size: usize, policy: c_int) -> c_int;
    fn aclrtFree(pointer: Pointer) -> c_int;
    fn aclrtMemcpy(target: Pointer, max: usize, source: *const c_void, count: usize, kind: c_int) -> c_int;
    fn aclGetRecentErrMsg() -> *const c_char;
    pub fn HcclGetErrorString(code: i32) -> *const c_char;
    pub fn aclmdlRICaptureBegin(stream: Pointer, mode: c_int) -> c_int;
    pub fn aclmdlRICaptureEnd(stream: Pointer, graph: *mut Pointer) -> c_int;
    pub fn aclmdlRIExecuteAsync(graph: Pointer, stream: Pointer) -> c_int;
    pub fn aclmdlRIDestroy(graph: Pointer) -> c_int;
}

/// Prepares the process. Every thread then calls `use_device`.
pub fn prepare() {
    runtime::install(Runtime {
        launch_operation: softaclLaunchOperation,
        host_view: softaclHostView,
        report_error: softaclReportError,
        current_device: aclrtGetDevice,
        current_context: aclrtGetCurrentContext,
        set_context: aclrtSetCurrentContext,
    });
    // SAFETY: no configuration.
    check(unsafe { aclInit(std::ptr::null()) });
}

pub fn use_device(device: i32) {
    // SAFETY: no pointers.
    check(unsafe { aclrtSetDevice(device) });
}

#[track_caller]
pub fn check(code: i32) {
    assert_eq!(code, 0, "{}", last_message());
}

/// The message of the last failure of this thread.
pub fn last_message() -> String {
    // SAFETY: NULL or a string that lives until the next call of this thread.
    unsafe {
        let text = aclGetRecentErrMsg();
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// A stream that is destroyed at its end.
pub struct Stream(pub Pointer);

impl Stream {
    pub fn new() -> Stream {
        let mut stream = null_mut();
        // SAFETY: the handle is written to a variable that lives during the call.
        check(unsafe { aclrtCreateStream(&raw mut stream) });
        Stream(stream)
    }

    pub fn synchronize(&self) -> i32 {
        // SAFETY: a live stream.
        unsafe { aclrtSynchronizeStream(self.0) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: a live stream, which nothing uses anymore.
        unsafe { aclrtDestroyStream(self.0) };
    }
}

/// Device memory with contents.
pub struct Buffer {
    pub pointer: Pointer,
    len: usize,
}

impl Buffer {
    pub fn new(bytes: &[u8]) -> Buffer {
        let mut pointer = null_mut();
        // SAFETY: the address is written to a variable that lives during the call; the copy has a source of its length.
        unsafe {
            check(aclrtMalloc(&raw mut pointer, bytes.len().max(64), 0));
            if !bytes.is_empty() {
                check(aclrtMemcpy(pointer, bytes.len(), bytes.as_ptr().cast(), bytes.len(), 1));
            }
        }
        Buffer { pointer, len: bytes.len() }
    }

    /// The address of a byte of the buffer.
    pub fn at(&self, offset: usize) -> Pointer {
        self.pointer.wrapping_byte_add(offset)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        if self.len > 0 {
            // SAFETY: the copy has a target of its length.
            check(unsafe { aclrtMemcpy(bytes.as_mut_ptr().cast(), self.len, self.pointer, self.len, 2) });
        }
        bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: memory that nothing uses anymore.
        unsafe { aclrtFree(self.pointer) };
    }
}
