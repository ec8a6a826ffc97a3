//! One function per C function, under its C name, each a [`Result`]. Nothing is added.
//!
//! The functions are looked up in the library when it is first needed; see [`loaded`]. All of them are unsafe:
//! they take the addresses that C takes. A result that C writes through a pointer is returned instead.
//!
//! ```
//! use ascendcl::raw;
//!
//! // SAFETY: the device is set before memory is asked for, and the memory is freed once.
//! unsafe {
//!     raw::aclrtSetDevice(0)?;
//!     let memory = raw::aclrtMalloc(4096, ascendcl::sys::ACL_MEM_MALLOC_HUGE_FIRST)?;
//!     raw::aclrtFree(memory)?;
//!     raw::aclrtResetDevice(0)?;
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
use std::mem::MaybeUninit;

/// The type of the C function. `first` and `last` say where the result pointer is.
macro_rules! signature {
    (plain [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> aclError };
    (first [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn(*mut $out $(, $kind)*) -> aclError };
    (last [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn($($kind,)* *mut $out) -> aclError };
    (text [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> *const c_char };
}

/// The Rust function: calls, and makes an error of a code.
macro_rules! wrapper {
    (plain $name:ident [] ($($arg:ident: $kind:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`")]
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
    (first $name:ident [$out:ty] ($($arg:ident: $kind:ty),*)) => {
        wrapper!(@out $name [$out] ($($arg: $kind),*) |out| (out $(, $arg)*));
    };
    (last $name:ident [$out:ty] ($($arg:ident: $kind:ty),*)) => {
        wrapper!(@out $name [$out] ($($arg: $kind),*) |out| ($($arg,)* out));
    };
    (@out $name:ident [$out:ty] ($($arg:ident: $kind:ty),*) |$place:ident| ($($given:expr),*)) => {
        #[doc = concat!("`", stringify!($name), "`")]
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
    (text $name:ident [] ($($arg:ident: $kind:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`; `None` for NULL")]
        pub unsafe fn $name($($arg: $kind),*) -> Result<Option<String>> {
            let function = library::functions()?.$name.ok_or_else(|| missing(stringify!($name)))?;
            // SAFETY: the caller keeps the conditions of the C function.
            let text = unsafe { function($($arg),*) };
            // SAFETY: the library returns texts that end with a zero and stay until its next call.
            Ok((!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()))
        }
    };
}

/// The table: shape, name, type of the result, arguments. From it come the addresses, what is linked, and the
/// functions of this module.
macro_rules! functions {
    ($($shape:ident $name:ident [$($out:ty)?] ($($arg:ident: $kind:ty),* $(,)?);)*) => {
        /// The addresses of the functions; one that the library does not have is `None`.
        #[derive(Clone, Copy)]
        pub struct Functions { $($name: Option<signature!($shape [$($out)?] $($kind),*)>,)* }

        impl Functions {
            /// Looks all functions up by name. NULL is one that is not there.
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

        $(wrapper!($shape $name [$($out)?] ($($arg: $kind),*));)*

        /// Names and numbers of arguments, for the comparison with the manifest.
        #[cfg(test)]
        const TABLE: &[(&str, usize)] =
            &[$((stringify!($name), <[&str]>::len(&[$(stringify!($out),)? $(stringify!($arg)),*]))),*];
    };
}

functions! {
    plain aclInit[](config: *const c_char);
    plain aclFinalize[]();
    text aclGetRecentErrMsg[]();
    text softaclVersion[]();

    text aclrtGetSocName[]();
    first aclrtGetDeviceCount[u32]();
    plain aclrtSetDevice[](device: i32);
    plain aclrtResetDevice[](device: i32);
    first aclrtGetDevice[i32]();
    first aclrtGetRunMode[i32]();
    plain aclrtSynchronizeDevice[]();
    plain aclrtGetMemInfo[](attribute: i32, free: *mut usize, total: *mut usize);
    first aclrtDeviceCanAccessPeer[i32](device: i32, peer: i32);
    plain aclrtDeviceEnablePeerAccess[](peer: i32, flags: u32);

    first aclrtCreateContext[aclrtContext](device: i32);
    plain aclrtDestroyContext[](context: aclrtContext);
    plain aclrtSetCurrentContext[](context: aclrtContext);
    first aclrtGetCurrentContext[aclrtContext]();

    first aclrtCreateStream[aclrtStream]();
    first aclrtCreateStreamWithConfig[aclrtStream](priority: u32, flag: u32);
    plain aclrtDestroyStream[](stream: aclrtStream);
    plain aclrtSynchronizeStream[](stream: aclrtStream);
    plain aclrtSynchronizeStreamWithTimeout[](stream: aclrtStream, milliseconds: i32);
    last aclrtStreamQuery[i32](stream: aclrtStream);
    plain aclrtStreamWaitEvent[](stream: aclrtStream, event: aclrtEvent);
    plain aclrtLaunchHostFunc[](stream: aclrtStream, function: aclrtHostFunc, argument: *mut c_void);

    first aclrtCreateEvent[aclrtEvent]();
    first aclrtCreateEventWithFlag[aclrtEvent](flag: u32);
    first aclrtCreateEventExWithFlag[aclrtEvent](flag: u32);
    plain aclrtDestroyEvent[](event: aclrtEvent);
    plain aclrtRecordEvent[](event: aclrtEvent, stream: aclrtStream);
    plain aclrtSynchronizeEvent[](event: aclrtEvent);
    last aclrtQueryEventStatus[i32](event: aclrtEvent);
    first aclrtEventElapsedTime[f32](start: aclrtEvent, end: aclrtEvent);

    first aclrtMalloc[*mut c_void](size: usize, policy: i32);
    plain aclrtFree[](memory: *mut c_void);
    first aclrtMallocHost[*mut c_void](size: usize);
    plain aclrtFreeHost[](memory: *mut c_void);
    last aclrtPointerGetAttributes[aclrtPtrAttributes](pointer: *const c_void);

    plain aclrtMemcpy[](target: *mut c_void, capacity: usize, source: *const c_void, count: usize, kind: i32);
    plain aclrtMemcpyAsync[](
        target: *mut c_void, capacity: usize, source: *const c_void, count: usize, kind: i32, stream: aclrtStream,
    );
    plain aclrtMemcpy2dAsync[](
        target: *mut c_void, target_pitch: usize, source: *const c_void, source_pitch: usize, width: usize, height: usize,
        kind: i32, stream: aclrtStream,
    );
    plain aclrtMemset[](target: *mut c_void, capacity: usize, value: i32, count: usize);
    plain aclrtMemsetAsync[](target: *mut c_void, capacity: usize, value: i32, count: usize, stream: aclrtStream);
    plain aclrtReduceAsync[](
        target: *mut c_void, source: *const c_void, count: u64, kind: i32, data_type: i32, stream: aclrtStream,
        reserved: *mut c_void,
    );
    plain aclrtMemcpyBatchAsync[](
        targets: *mut *mut c_void, capacities: *mut usize, sources: *mut *mut c_void, sizes: *mut usize, count: usize,
        attributes: *mut aclrtMemcpyBatchAttr, indexes: *mut usize, attribute_count: usize, fail_index: *mut usize,
        stream: aclrtStream,
    );
    last aclrtGetMemcpyDescSize[usize](kind: i32);
    plain aclrtSetMemcpyDesc[](
        descriptor: *mut c_void, kind: i32, source: *mut c_void, target: *mut c_void, count: usize, config: *mut c_void,
    );
    plain aclrtMemcpyAsyncWithDesc[](descriptor: *mut c_void, kind: i32, stream: aclrtStream);
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
    fn the_table_has_the_arguments_of_the_headers() {
        for (name, count) in TABLE.iter().filter(|(name, _)| !name.starts_with("softacl")) {
            let function = manifest::function(name).unwrap_or_else(|| panic!("{name} is not a public function"));
            let inside = function.prototype.split_once('(').expect("a prototype has arguments").1;
            let inside = inside.rsplit_once(')').expect("and ends").0.trim();
            let expected = if inside.is_empty() || inside == "void" { 0 } else { inside.split(',').count() };
            assert_eq!(*count, expected, "{}", function.prototype);
        }
    }
}
