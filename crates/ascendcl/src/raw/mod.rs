//! One function per C function, under its C name, each a [`Result`]: all 509 of the interface. Nothing is added.
//!
//! The functions are looked up in the library when it is first needed; see [`loaded`]. All of them are unsafe: they take
//! the addresses that C takes, and what C demands of its callers is demanded here. A function that the library does not
//! have is an error when it is called. Handles are addresses, enumerations are `i32`, structs are those of
//! [`sys`](crate::sys), and the address of a struct that is not there is one of `c_void`. Where a call gives one
//! thing back and the safe level uses it, it is returned instead of being written through a pointer.
//!
//! # Devices and contexts
//!
//! ```
//! use ascendcl::raw;
//!
//! // SAFETY: what is created is destroyed once, and not used afterwards.
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
//! // SAFETY: the memory has room for what is copied, and is freed when the stream is done with it.
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
//! // SAFETY: as above.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let stream = raw::aclrtCreateStream()?;
//!     let (host, device) = (raw::aclrtMallocHost(4096)?, raw::aclrtMalloc(4096, sys::ACL_MEM_MALLOC_HUGE_FIRST)?);
//!
//!     let (mut targets, mut sources) = ([device, device.byte_add(2048)], [host, host.byte_add(1024)]);
//!     let (mut rooms, mut sizes) = ([2048; 2], [1024; 2]);
//!     let on = |kind| sys::aclrtMemLocation { id: 0, r#type: kind };
//!     let (there, here) = (on(sys::ACL_MEM_LOCATION_TYPE_DEVICE), on(sys::ACL_MEM_LOCATION_TYPE_HOST));
//!     let mut attribute = sys::aclrtMemcpyBatchAttr { dstLoc: there, srcLoc: here, rsv: [0; 16] };
//!     let (mut index, mut failed) = (0, usize::MAX);
//!     raw::aclrtMemcpyBatchAsync(
//!         targets.as_mut_ptr(), rooms.as_mut_ptr(), sources.as_mut_ptr(), sizes.as_mut_ptr(), 2,
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
//!     // SAFETY: the counter is waited for below.
//!     unsafe { *counter.cast::<u32>() += 1 };
//! }
//!
//! let mut counter = 0u32;
//! // SAFETY: the counter lives until the event is waited for.
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
//! // SAFETY: the memory stays until the device is reset.
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
//! # Errors, and what a library does not have
//!
//! ```
//! use ascendcl::{raw, sys};
//!
//! // SAFETY: nothing is passed that could be touched.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let error = raw::aclrtFree(std::ptr::null_mut()).unwrap_err();
//!     assert_eq!((error.function(), error.name()), ("aclrtFree", "ACL_ERROR_INVALID_PARAM"));
//!     raw::aclrtResetDevice(0)?;
//!
//!     // softacl has no profiler, and says so.
//!     let absent = raw::aclprofStart(std::ptr::null()).unwrap_err();
//!     assert_eq!(absent.code(), sys::ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
//! }
//! # Ok::<(), ascendcl::Error>(())
//! ```
#![allow(non_snake_case)]
#![allow(clippy::missing_safety_doc, reason = "the conditions are those of the C function")]
#![allow(clippy::too_many_arguments, reason = "the shape of the C calls")]

mod library;

pub use library::{Origin, install, loaded};

use crate::error::{Error, Result};
use ascendcl_sys::*;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::mem::MaybeUninit;

/// The type of the C function. `first` and `last` say where the result pointer is.
macro_rules! signature {
    (plain [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> aclError };
    (first [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn(*mut $out $(, $kind)*) -> aclError };
    (last [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn($($kind,)* *mut $out) -> aclError };
    (text [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> *const c_char };
    (value [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> $out };
    (silent [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) };
    (varied [] $($kind:ty),*) => { unsafe extern "C" fn($($kind,)* ...) };
}

/// The Rust function: calls, and makes an error of a code.
macro_rules! wrapper {
    (plain $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[inline]
        pub unsafe fn $name($($arg: $kind),*) -> Result<()> {
            let function = library::functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller keeps the conditions of the C function.
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
    (@out $name:ident [$out:ty] $doc:literal ($($arg:ident: $kind:ty),*) |$place:ident| ($($given:expr),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = "What C writes through a pointer is returned."]
        #[inline]
        pub unsafe fn $name($($arg: $kind),*) -> Result<$out> {
            let function = library::functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            let mut result = MaybeUninit::<$out>::zeroed();
            let $place = result.as_mut_ptr();
            // SAFETY: the caller keeps the conditions of the C function; the result has its place.
            match unsafe { function($($given),*) } {
                // SAFETY: pointers and numbers; all of them may be zero, as they were at first.
                0 => Ok(unsafe { result.assume_init() }),
                code => Err(failed(stringify!($name), code)),
            }
        }
    };
    (text $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = "`None` for NULL."]
        pub unsafe fn $name($($arg: $kind),*) -> Result<Option<String>> {
            let function = library::functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller keeps the conditions of the C function.
            let text = unsafe { function($($arg),*) };
            // SAFETY: the library returns texts that end with a zero and stay until its next call.
            Ok((!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()))
        }
    };
    (value $name:ident [$out:ty] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        pub unsafe fn $name($($arg: $kind),*) -> Result<$out> {
            let function = library::functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller keeps the conditions of the C function.
            Ok(unsafe { function($($arg),*) })
        }
    };
    (silent $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        wrapper!(value $name [()] $doc ($($arg: $kind),*));
    };
    (varied $name:ident [] $doc:literal ($($arg:ident: $kind:ty),*)) => {
        #[doc = $doc]
        #[doc = ""]
        #[doc = "Rust has no variable arguments: the format must ask for none."]
        pub unsafe fn $name($($arg: $kind),*) -> Result<()> {
            let function = library::functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller keeps the conditions of the C function.
            unsafe { function($($arg),*) };
            Ok(())
        }
    };
}

/// The table: shape, name, type of the result, documentation, arguments. From it come the addresses, what is linked,
/// and the functions of this module. `build.rs` writes it from the prototypes of the interface.
macro_rules! functions {
    ($($shape:ident $name:ident [$($out:ty)?] [$doc:literal] ($($arg:ident: $kind:ty),* $(,)?);)*) => {
        /// The addresses of the functions, of which a library may lack some.
        ///
        /// ```
        /// use ascendcl::raw::{Functions, install};
        /// use std::ptr;
        ///
        /// unsafe extern "C" fn count(place: *mut u32) -> i32 {
        ///     // SAFETY: the caller has a place for the result.
        ///     unsafe { place.write(7) };
        ///     0
        /// }
        ///
        /// // SAFETY: the function has the signature of its name.
        /// let functions = unsafe {
        ///     Functions::look_up(|name| {
        ///         if name == c"aclrtGetDeviceCount" { count as *const _ } else { ptr::null() }
        ///     })
        /// };
        /// install(functions)?;
        /// assert_eq!(ascendcl::Device::count()?, 7);
        /// # Ok::<(), ascendcl::Error>(())
        /// ```
        #[derive(Clone, Copy)]
        pub struct Functions { $($name: Option<signature!($shape [$($out)?] $($kind),*)>,)* }

        impl Functions {
            /// Looks all functions up by name. NULL is one that is not there.
            ///
            /// ```
            /// let mut names = 0;
            /// // SAFETY: a library without functions.
            /// unsafe { ascendcl::raw::Functions::look_up(|_| { names += 1; std::ptr::null() }) };
            /// assert!(names > 500);
            /// ```
            ///
            /// # Safety
            ///
            /// What is returned for a name must be NULL or a function with the C signature of that name, which
            /// stays for ever.
            pub unsafe fn look_up(mut find: impl FnMut(&CStr) -> *const c_void) -> Functions {
                Functions {$(
                    $name: {
                        let name = concat!(stringify!($name), "\0");
                        let address = find(CStr::from_bytes_with_nul(name.as_bytes()).expect("one zero, at the end"));
                        // SAFETY: NULL is `None`; anything else has this signature, as the caller promises.
                        unsafe {
                            std::mem::transmute::<*const c_void, Option<signature!($shape [$($out)?] $($kind),*)>>(address)
                        }
                    },
                )*}
            }
        }

        /// The function of this name in the softacl that is part of the program.
        #[cfg(feature = "bundled")]
        fn bundled(name: &CStr) -> *const c_void {
            use ascendcl_capi as _;
            match name.to_bytes() {
                $(name if name == stringify!($name).as_bytes() => {
                    // Only the address is taken.
                    unsafe extern "C" { fn $name(); }
                    $name as *const c_void
                })*
                _ => std::ptr::null(),
            }
        }

        $(wrapper!($shape $name [$($out)?] $doc ($($arg: $kind),*));)*

        /// Names and arguments, for the comparison with the manifest.
        #[cfg(test)]
        const TABLE: &[(&str, &str, usize)] = &[$((
            stringify!($name),
            stringify!($shape),
            <[&str]>::len(&[$(stringify!($arg)),*]),
        )),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Functions")
    }
}

/// The error of a code, with what the runtime says about it.
#[cold]
fn failed(function: &'static str, code: aclError) -> Error {
    // SAFETY: asking has no conditions.
    let said = unsafe { aclGetRecentErrMsg() }.ok().flatten().unwrap_or_default();
    // The newest message is the first line. softacl repeats the function and the code before the sentence.
    let line = said.lines().next().unwrap_or_default();
    let prefix = format!("{function} failed with {code} (");
    let sentence = match line.split_once(&prefix).and_then(|(_, rest)| rest.split_once("): ")) {
        Some((_, sentence)) => sentence,
        None if line.is_empty() => "the runtime says nothing more",
        None => line,
    };
    Error::new(code, function, sentence.to_owned())
}

#[cold]
fn missing(function: &'static str) -> Error {
    let from = loaded().map_or_else(|_| "the library".to_owned(), ToString::to_string);
    Error::new(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, format!("{from} does not have this function"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_interface_is_here_with_its_arguments() {
        let table: Vec<_> = TABLE.iter().filter(|(name, ..)| !name.starts_with("softacl")).collect();
        assert_eq!(table.len(), FUNCTIONS.len());
        for (name, shape, count) in table {
            let function = manifest::function(name).unwrap_or_else(|| panic!("{name} is not a public function"));
            let inside = function.prototype.split_once('(').expect("a prototype has arguments").1;
            let inside = inside.rsplit_once(')').expect("and ends").0.trim();
            let expected = if inside.is_empty() || inside == "void" { 0 } else { inside.split(',').count() };
            let is_left_out = usize::from(matches!(*shape, "first" | "last" | "varied"));
            assert_eq!(count + is_left_out, expected, "{}", function.prototype);
        }
    }

    #[cfg(feature = "bundled")]
    #[test]
    fn bundled_library_exports_every_function() {
        let missing: Vec<_> = TABLE
            .iter()
            .filter(|(name, ..)| bundled(&std::ffi::CString::new(*name).expect("no zero")).is_null())
            .collect();
        assert_eq!(missing, Vec::<&(&str, &str, usize)>::new());
    }
}
