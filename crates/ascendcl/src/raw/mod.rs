//! The unsafe layer: every function of the C API under its C name, returning a [`Result`].
//!
//! This module has all 509 AscendCL functions and the functions that softacl adds (`softacl...`). Use it for calls that
//! the safe layer does not wrap: asynchronous calls with raw addresses, host functions, graphs, kernels. The safe types
//! and these functions can be mixed: `as_raw()` of [`Context`](crate::Context), [`Stream`](crate::Stream),
//! [`Event`](crate::Event), [`DeviceBuffer`](crate::DeviceBuffer) and [`PinnedBuffer`](crate::PinnedBuffer) returns the
//! handle or the address.
//!
//! # Conventions
//!
//! - Addresses are looked up once, when the library is loaded; see [`loaded`].
//!   [`functions`] returns the C functions themselves, without the conversion to [`Result`].
//! - A non-zero code becomes an [`Error`] with the message of the runtime. A function that the library does not export
//!   returns an error when it is called.
//! - Handles are `*mut c_void`, enumerations are `i32`, and structs are those of [`sys`](crate::sys). Pointers to other
//!   structs are `*mut c_void`.
//! - For the functions that the safe layer uses, a single result is returned instead of written through a pointer.
//!
//! # Safety
//!
//! All functions are `unsafe`, with the preconditions of the C function. In general:
//!
//! - Addresses must be valid for the given size. Memory of asynchronous work must not be freed, and must not be
//!   accessed in conflict with that work, until a wait has covered it.
//! - Handles must be live, and must not be used after they were destroyed.
//! - Safe values do not track work that is queued here. Keep them alive until the work has finished.
//!
//! # Devices and contexts
//!
//! ```
//! use ascendcl::raw;
//!
//! // SAFETY: the context is destroyed once and not used afterwards.
//! unsafe {
//!     assert!(raw::aclrtGetDeviceCount()? > 0);
//!     raw::aclrtSetDevice(0)?;
//!     let context = raw::aclrtCreateContext(0)?;
//!     raw::aclrtSetCurrentContext(context)?;
//!     assert_eq!((raw::aclrtGetDevice()?, raw::aclrtGetCurrentContext()?), (0, context));
//!     raw::aclrtDestroyContext(context)?;
//!     raw::aclrtResetDevice(0)?;
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Memory, streams and copies
//!
//! ```
//! use ascendcl::{raw, sys};
//!
//! // SAFETY: the memory is large enough for the copies and is freed after the wait for the stream.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let stream = raw::aclrtCreateStream()?;
//!     let (host, device) = (raw::aclrtMallocHost(4096)?, raw::aclrtMalloc(4096, sys::ACL_MEM_MALLOC_HUGE_FIRST)?);
//!     raw::aclrtMemcpyAsync(device, 4096, host, 4096, sys::ACL_MEMCPY_HOST_TO_DEVICE, stream)?;
//!     raw::aclrtMemsetAsync(device, 4096, 7, 64, stream)?;
//!     raw::aclrtMemcpy2dAsync(host, 64, device, 128, 64, 32, sys::ACL_MEMCPY_DEVICE_TO_HOST, stream)?;
//!     raw::aclrtSynchronizeStream(stream)?;
//!     assert_eq!(host.cast::<u8>().read(), 7);
//!     raw::aclrtFree(device)?;
//!     raw::aclrtFreeHost(host)?;
//!     raw::aclrtDestroyStream(stream)?;
//!     raw::aclrtResetDevice(0)?;
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Batches and descriptors
//!
//! ```
//! use ascendcl::{raw, sys};
//! use std::ptr;
//!
//! // SAFETY: the memory is large enough for the copies and is not freed before the device is reset.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let stream = raw::aclrtCreateStream()?;
//!     let (host, device) = (raw::aclrtMallocHost(4096)?, raw::aclrtMalloc(4096, sys::ACL_MEM_MALLOC_HUGE_FIRST)?);
//!
//!     let (mut targets, mut sources) = ([device, device.byte_add(2048)], [host, host.byte_add(1024)]);
//!     let (mut capacities, mut sizes) = ([2048; 2], [1024; 2]);
//!     let location = |kind| sys::aclrtMemLocation { id: 0, r#type: kind };
//!     let to = location(sys::ACL_MEM_LOCATION_TYPE_DEVICE);
//!     let from = location(sys::ACL_MEM_LOCATION_TYPE_HOST);
//!     let mut attribute = sys::aclrtMemcpyBatchAttr { dstLoc: to, srcLoc: from, rsv: [0; 16] };
//!     let (mut index, mut failed) = (0, usize::MAX);
//!     raw::aclrtMemcpyBatchAsync(
//!         targets.as_mut_ptr(), capacities.as_mut_ptr(), sources.as_mut_ptr(), sizes.as_mut_ptr(), 2,
//!         &mut attribute, &mut index, 1, &mut failed, stream,
//!     )?;
//!
//!     let kind = sys::ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
//!     let descriptor = raw::aclrtMalloc(raw::aclrtGetMemcpyDescSize(kind)?, sys::ACL_MEM_MALLOC_HUGE_FIRST)?;
//!     raw::aclrtSetMemcpyDesc(descriptor, kind, device, device.byte_add(1024), 1024, ptr::null_mut())?;
//!     raw::aclrtMemcpyAsyncWithDesc(descriptor, kind, stream)?;
//!     raw::aclrtSynchronizeStream(stream)?;
//!     raw::aclrtResetDevice(0)?;
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Events and host functions
//!
//! ```
//! use ascendcl::{raw, sys};
//! use std::ffi::c_void;
//!
//! unsafe extern "C" fn add(counter: *mut c_void) {
//!     // SAFETY: the caller passes a counter and waits before it accesses the counter.
//!     unsafe { *counter.cast::<u32>() += 1 };
//! }
//!
//! let mut counter = 0u32;
//! // SAFETY: the counter exists, and is not accessed, until the wait for the event.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let (stream, event) = (raw::aclrtCreateStream()?, raw::aclrtCreateEvent()?);
//!     raw::aclrtLaunchHostFunc(stream, Some(add), (&raw mut counter).cast())?;
//!     raw::aclrtRecordEvent(event, stream)?;
//!     raw::aclrtSynchronizeEvent(event)?;
//!     assert_eq!(raw::aclrtQueryEventStatus(event)?, sys::ACL_EVENT_RECORDED_STATUS_COMPLETE);
//!     raw::aclrtResetDevice(0)?;
//! }
//! assert_eq!(counter, 1);
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Graphs
//!
//! ```
//! use ascendcl::{raw, sys};
//! use std::ptr;
//!
//! // SAFETY: the memory is not freed before the device is reset.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let stream = raw::aclrtCreateStream()?;
//!     let memory = raw::aclrtMalloc(4096, sys::ACL_MEM_MALLOC_HUGE_FIRST)?;
//!     let mut graph = ptr::null_mut();
//!     raw::aclmdlRICaptureBegin(stream, sys::ACL_MODEL_RI_CAPTURE_MODE_GLOBAL)?;
//!     raw::aclrtMemsetAsync(memory, 4096, 3, 4096, stream)?;
//!     raw::aclmdlRICaptureEnd(stream, &mut graph)?;
//!     raw::aclmdlRIExecuteAsync(graph, stream)?;
//!     raw::aclrtSynchronizeStream(stream)?;
//!     raw::aclmdlRIDestroy(graph)?;
//!     raw::aclrtResetDevice(0)?;
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # C functions without the conversion to `Result`
//!
//! ```
//! use ascendcl::{raw, sys};
//!
//! let aclrtMalloc = raw::functions()?.aclrtMalloc().expect("every library exports aclrtMalloc");
//! let mut memory = std::ptr::null_mut();
//! // SAFETY: the result pointer is valid, and the memory is freed once.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     assert_eq!(aclrtMalloc(&mut memory, 4096, sys::ACL_MEM_MALLOC_HUGE_FIRST), sys::ACL_SUCCESS);
//!     raw::aclrtFree(memory)?;
//!     raw::aclrtResetDevice(0)?;
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Functions of softacl
//!
//! ```
//! use ascendcl::{raw, sys};
//!
//! // SAFETY: the view is used before the memory is freed, while no work uses the memory.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let device = raw::aclrtMalloc(4096, sys::ACL_MEM_MALLOC_HUGE_FIRST)?;
//!     raw::aclrtMemset(device, 4096, 7, 4096)?;
//!     assert_eq!(raw::softaclHostView(device, 4096)?.cast::<u8>().read(), 7);
//!     raw::aclrtFree(device)?;
//!     raw::aclrtResetDevice(0)?;
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Errors and missing functions
//!
//! ```
//! use ascendcl::{ErrorKind, raw};
//!
//! // SAFETY: the functions reject NULL.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let error = raw::aclrtFree(std::ptr::null_mut()).unwrap_err();
//!     assert_eq!((error.function(), error.name()), ("aclrtFree", "ACL_ERROR_INVALID_PARAM"));
//!     raw::aclrtResetDevice(0)?;
//!
//!     // softacl runs no models.
//!     let error = raw::aclprofModelUnSubscribe(0).unwrap_err();
//!     assert_eq!(error.kind(), ErrorKind::NotSupported);
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
#![allow(non_snake_case)]
#![allow(clippy::too_many_arguments, reason = "the signatures are those of the C functions")]

mod library;
mod table;

pub use library::{Origin, functions, install, loaded};
pub use table::Functions;

use crate::error::{Error, Result};
use ascendcl_sys::*;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;

/// The `# Safety` and `# Errors` sections of a function that returns a code.
macro_rules! call_sections {
    () => {
        "# Safety\n\nThe preconditions of the C function; see the [module](self#safety).\n\n\
         # Errors\n\nFails if the C function returns a code other than 0, if the library lacks the function, or if no \
         library can be loaded."
    };
}

/// The `# Safety` and `# Errors` sections of a function that returns no code.
macro_rules! lookup_sections {
    () => {
        "# Safety\n\nThe preconditions of the C function; see the [module](self#safety).\n\n\
         # Errors\n\nFails if the library lacks the function, or if no library can be loaded."
    };
}

/// Expands to the Rust function, which calls the C function and converts its code to a `Result`.
macro_rules! wrapper {
    (plain $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = call_sections!()]
        #[inline]
        pub unsafe fn $name($($arg: $kind),*) -> Result<()> {
            let function = functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller upholds the preconditions of the C function.
            match unsafe { function($($arg),*) } {
                0 => Ok(()),
                code => Err(failed(stringify!($name), code)),
            }
        }
    };
    (first $name:ident [$out:ty] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        wrapper!(@out $name [$out] $doc ($($arg: $kind),*) |out| (out $(, $arg)*));
    };
    (last $name:ident [$out:ty] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        wrapper!(@out $name [$out] $doc ($($arg: $kind),*) |out| ($($arg,)* out));
    };
    (@out $name:ident [$out:ty] $doc:literal ($($arg:ident: $kind:ty),*) |$result:ident| ($($value:expr),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = "Returns what the C function writes through its result pointer."]
        #[doc = ""]
        #[doc = call_sections!()]
        #[inline]
        pub unsafe fn $name($($arg: $kind),*) -> Result<$out> {
            let function = functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            let mut result = MaybeUninit::<$out>::zeroed();
            let $result = result.as_mut_ptr();
            // SAFETY: the caller upholds the preconditions of the C function; the result pointer is valid.
            match unsafe { function($($value),*) } {
                // SAFETY: pointers and integers, for which the initial zeros are valid, too.
                0 => Ok(unsafe { result.assume_init() }),
                code => Err(failed(stringify!($name), code)),
            }
        }
    };
    (text $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = "Returns `None` for NULL."]
        #[doc = ""]
        #[doc = lookup_sections!()]
        pub unsafe fn $name($($arg: $kind),*) -> Result<Option<String>> {
            let function = functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller upholds the preconditions of the C function.
            let text = unsafe { function($($arg),*) };
            // SAFETY: the library returns NUL-terminated strings that are valid until its next call.
            Ok((!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()))
        }
    };
    (value $name:ident [$out:ty] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = lookup_sections!()]
        pub unsafe fn $name($($arg: $kind),*) -> Result<$out> {
            let function = functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller upholds the preconditions of the C function.
            Ok(unsafe { function($($arg),*) })
        }
    };
    (void $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        wrapper!(value $name [()] $doc ($($arg: $kind),*));
    };
    (variadic $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = "Variable arguments cannot be passed: the format must not require any."]
        #[doc = ""]
        #[doc = lookup_sections!()]
        pub unsafe fn $name($($arg: $kind),*) -> Result<()> {
            let function = functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller upholds the preconditions of the C function.
            unsafe { function($($arg),*) };
            Ok(())
        }
    };
}

/// Expands the table that `build.rs` generates to the functions of this module. `table` describes its form.
macro_rules! functions {
    ($($shape:ident $name:ident [$($out:ty)?] [$doc:literal] ($($arg:ident: $kind:ty),* $(,)?);)*) => {
        $(wrapper!($shape $name [$($out)?] $doc ($($arg: $kind),*));)*
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Creates the error of a code, with the message of the runtime.
#[cold]
fn failed(function: &'static str, code: aclError) -> Error {
    // SAFETY: the call has no preconditions.
    let recent = unsafe { aclGetRecentErrMsg() }.ok().flatten().unwrap_or_default();
    // The newest message is the first line. softacl puts the function and the code before the message.
    let line = recent.lines().next().unwrap_or_default();
    let prefix = format!("{function} failed with {code} (");
    let message = match line.split_once(&prefix).and_then(|(_, rest)| rest.split_once("): ")) {
        Some((_, message)) => message,
        None if line.is_empty() => "no message from the runtime",
        None => line,
    };
    Error::new(code, function, message.to_owned())
}

/// Creates the error of a function that the library does not export.
#[cold]
fn missing(function: &'static str) -> Error {
    let library = loaded().map_or_else(|_| "the library".to_owned(), ToString::to_string);
    Error::new(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, format!("{library} does not have this function"))
}
