//! Extensions of softacl, declared in `softacl/softacl.h`.

use crate::argument::{NonNullArg, OutPtr};
use crate::entry::export;
use crate::sync_gate;
use ascendcl_sys::aclrtStream;
use softacl_engine::observer::{BlockChange, Mode, Touch};
use softacl_memory::segv;
use std::ffi::{CStr, c_char, c_void};

export! {
    /// Returns the address at which host code that acts as a kernel may access device memory.
    fn softaclHostView(pointer: NonNullArg, size: usize, view: OutPtr<*mut c_void>) |call| {
        view.set(call.host_view(pointer.address(), size)? as *mut c_void)
    }

    fn softaclAnnotateRead(stream: aclrtStream, pointer: *const c_void, size: usize) |call| {
        call.annotate(stream as usize, Touch { address: pointer as usize, len: size, mode: Mode::Read })
    }

    fn softaclAnnotateWrite(stream: aclrtStream, pointer: *const c_void, size: usize) |call| {
        call.annotate(stream as usize, Touch { address: pointer as usize, len: size, mode: Mode::Write })
    }

    fn softaclAnnotateAlloc(pointer: *const c_void, size: usize, stream: aclrtStream) |call| {
        call.annotate_block(stream as usize, BlockChange::Allocated { start: pointer as usize, size })
    }

    fn softaclAnnotateFree(pointer: *const c_void, size: usize, stream: aclrtStream) |call| {
        call.annotate_block(stream as usize, BlockChange::Freed { start: pointer as usize, size })
    }
}

/// Returns 1 if the process is checked, otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn softaclIsChecking() -> i32 {
    i32::from(crate::config::is_checker_enabled())
}

/// Saves the Python frames of the calling thread for its next call. Used by the module `acl`, which releases the
/// interpreter lock in calls that can block.
#[unsafe(no_mangle)]
pub extern "C" fn softaclNotePlace() {
    softacl_checker::save_frames();
}

/// Takes the Python frames of the calling thread, for a library whose own thread makes the call later. NULL without the
/// checker or without Python.
#[unsafe(no_mangle)]
pub extern "C" fn softaclTakePlace() -> *mut c_void {
    let place = crate::config::is_checker_enabled().then(softacl_checker::Place::take).flatten();
    place.map_or(std::ptr::null_mut(), |place| Box::into_raw(Box::new(place)).cast())
}

/// Locates the calls of the calling thread at a place that another thread took, until `softaclLeavePlace`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclEnterPlace(place: *const c_void) {
    if !place.is_null() {
        // SAFETY: the caller passes a place of `softaclTakePlace` that it has not released.
        unsafe { &*place.cast::<softacl_checker::Place>() }.enter();
    }
}

/// Ends the place that the calling thread has entered.
#[unsafe(no_mangle)]
pub extern "C" fn softaclLeavePlace() {
    softacl_checker::Place::leave();
}

/// Releases a place. Called once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclReleasePlace(place: *mut c_void) {
    if !place.is_null() {
        // SAFETY: the caller passes a place of `softaclTakePlace`, once.
        drop(unsafe { Box::from_raw(place.cast::<softacl_checker::Place>()) });
    }
}

/// Returns 1 if a stream is capturing, otherwise 0. Used by the module `acl`, which keeps what a captured callback needs.
#[unsafe(no_mangle)]
pub extern "C" fn softaclIsCapturing(stream: aclrtStream) -> i32 {
    crate::process::machine().map_or(0, |machine| i32::from(machine.is_stream_capturing(stream as usize)))
}

/// Reports the findings now, for a process that ends without running exit handlers.
#[unsafe(no_mangle)]
pub extern "C" fn softaclTellFindings() -> i32 {
    i32::from(crate::check::report_once())
}

/// Writes the report so far as JSON. Returns its length, which may exceed `size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclFindings(text: *mut c_char, size: usize) -> usize {
    let Some(report) = crate::check::report() else { return 0 };
    let Ok(json) = serde_json::to_vec(&report) else { return 0 };
    let length = json.len();
    // SAFETY: the program passed the pointer to the function in progress.
    if unsafe { write_text(json, text, size) } { length } else { 0 }
}

/// Begins a region of the calling thread in which no call may wait, except those that `allow` lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclNoHiddenSyncBegin(name: *const c_char, allow: *const c_char) -> i32 {
    let text = |text: *const c_char| match text.is_null() {
        true => String::new(),
        // SAFETY: the caller passes a string.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    };
    match sync_gate::begin(&text(name), &text(allow)) {
        Ok(()) => 0,
        Err(why) => {
            crate::entry::report(format!("[EH0001] softaclNoHiddenSyncBegin failed with 100000: {why}."));
            ascendcl_sys::ACL_ERROR_INVALID_PARAM
        }
    }
}

/// Ends the innermost region of the calling thread. Returns the number of calls that waited, and writes them to `text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclNoHiddenSyncEnd(text: *mut c_char, size: usize) -> usize {
    let Some((count, lines)) = sync_gate::end() else { return usize::MAX };
    // SAFETY: the program passed the pointer to the function in progress.
    unsafe { write_text(lines.join("\n").into_bytes(), text, size) };
    count
}

/// Writes a text with a final zero, truncated to `size` bytes. Returns `false` if the memory is not accessible.
///
/// # Safety
///
/// The program allows the access by passing `text` and `size`.
unsafe fn write_text(mut bytes: Vec<u8>, text: *mut c_char, size: usize) -> bool {
    if text.is_null() || size == 0 {
        return true;
    }
    bytes.truncate(size - 1);
    bytes.push(0);
    // SAFETY: as stated above.
    unsafe { segv::try_write(text as usize, &bytes) }
}

/// Returns the number of failed tasks whose error no wait returned, and writes a line for each to `text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclUnobservedErrors(text: *mut c_char, size: usize) -> usize {
    let Ok(machine) = crate::process::machine() else { return 0 };
    let failures = machine.unobserved_failures();
    let lines: Vec<String> = failures.iter().map(|error| format!("{}: {error}", error.code())).collect();
    // SAFETY: the program passed the pointer to the function in progress.
    if unsafe { write_text(lines.join("\n").into_bytes(), text, size) } { failures.len() } else { 0 }
}

/// Stores a message for `aclGetRecentErrMsg`. Used by `libnnopbase.so`, whose errors this library reports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclReportError(text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the caller passes a string.
        crate::entry::report(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn softaclVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
