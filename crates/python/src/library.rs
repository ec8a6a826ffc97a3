//! Finds, loads and calls `libascendcl.so`.
//!
//! Every C function in the table takes integers and pointers. The calling conventions of both supported processors
//! pass them as 64-bit words, so one function type serves all of them.

use pyo3::PyResult;
use pyo3::exceptions::PyImportError;
use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "libascendcl.so";
/// Maximum number of arguments of an API function.
pub const MAX_WORDS: usize = 10;
pub const NOT_SUPPORTED: i32 = 207_000;

struct Handle(*mut c_void);

// SAFETY: a library handle may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: a library handle may be used from several threads at the same time.
unsafe impl Sync for Handle {}

static LIBRARY: OnceLock<Handle> = OnceLock::new();

/// Loads the library. Tries the one that the process has already loaded, then the one next to this module, then the
/// loader's search path.
pub fn load() -> PyResult<()> {
    if LIBRARY.get().is_some() {
        return Ok(());
    }
    // A loaded library takes precedence: a process must not have two engines.
    if let Ok(handle) = open(&PathBuf::from(NAME), libc::RTLD_NOLOAD) {
        let _ = LIBRARY.set(handle);
        return Ok(());
    }
    let mut tried = Vec::new();
    for candidate in candidates() {
        match open(&candidate, libc::RTLD_GLOBAL) {
            Ok(handle) => {
                let _ = LIBRARY.set(handle);
                return Ok(());
            }
            Err(why) => tried.push(why),
        }
    }
    Err(PyImportError::new_err(format!("{NAME} could not be loaded; tried: {}", tried.join("; "))))
}

/// Opens a library. The error is the loader's message.
fn open(path: &Path, flags: i32) -> Result<Handle, String> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("paths have no zeros");
    // SAFETY: loading runs the library's initializers, which do not depend on state of this module.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | flags) };
    if !handle.is_null() {
        return Ok(Handle(handle));
    }
    // SAFETY: has no conditions. The message belongs to the loader and is copied below, before the next loader call.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return Err("it is not loaded".to_owned());
    }
    // SAFETY: the message is a zero-terminated string that is valid until the next loader call of this thread.
    Err(unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned())
}

/// Returns the paths to try, in order.
fn candidates() -> Vec<PathBuf> {
    let mut all = Vec::new();
    if let Some(here) = own_directory() {
        // Relative to this module: in a wheel, and in an installation.
        all.extend(["softacl/lib64", "../../lib64"].map(|directory| here.join(directory).join(NAME)));
        all.retain(|path| path.exists());
    }
    all.push(PathBuf::from(NAME));
    all
}

/// Returns the directory of this module.
fn own_directory() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is that of this function; the loader writes the result.
    let found = unsafe { libc::dladdr(own_directory as *const c_void, info.as_mut_ptr()) };
    if found == 0 {
        return None;
    }
    // SAFETY: dladdr succeeded, so the fields are set; the name lives as long as the module.
    let name = unsafe { CStr::from_ptr(info.assume_init().dli_fname) };
    let path = std::fs::canonicalize(name.to_str().ok()?).ok()?;
    path.parent().map(PathBuf::from)
}

/// A function of the library. `None` if an older library does not have it.
#[derive(Clone, Copy)]
pub struct Function(Option<extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64>);

/// Looks a function up by its C name.
pub fn function(name: &CStr) -> Function {
    let Some(library) = LIBRARY.get() else { return Function(None) };
    // SAFETY: the handle is of a loaded library that is never closed.
    let address = unsafe { libc::dlsym(library.0, name.as_ptr()) };
    if address.is_null() {
        return Function(None);
    }
    // SAFETY: the symbol is a C function with at most ten word arguments; the callee ignores further ones.
    Function(Some(unsafe {
        std::mem::transmute::<*mut c_void, extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64>(
            address,
        )
    }))
}

impl Function {
    /// Calls the function. A missing function returns `NOT_SUPPORTED`.
    #[inline]
    pub fn call(self, w: &[u64; MAX_WORDS]) -> u64 {
        match self.0 {
            Some(function) => function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9]),
            None => NOT_SUPPORTED as u64,
        }
    }

    /// Calls a function that returns a code. Missing arguments are 0.
    pub fn code(self, words: &[u64]) -> i32 {
        let mut all = [0; MAX_WORDS];
        all[..words.len()].copy_from_slice(words);
        self.call(&all) as i32
    }
}

/// Saves the Python frames for the checker, if one is active. Calls that can block release the interpreter lock, and
/// the frames cannot be read without it.
#[inline]
pub fn save_frames() {
    static SAVE: OnceLock<Option<Function>> = OnceLock::new();
    let is_checking = || function(c"softaclIsChecking").0.is_some_and(|f| f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) as i32 != 0);
    if let Some(save) = SAVE.get_or_init(|| is_checking().then(|| function(c"softaclNotePlace"))) {
        save.call(&[0; MAX_WORDS]);
    }
}

/// Calls `aclFloatToFloat16`. Separate from `Function::call` because floats are passed in other registers.
pub fn float_to_half(value: f32) -> u16 {
    match function(c"aclFloatToFloat16").0 {
        // SAFETY: the C signature is `uint16_t(float)`.
        Some(f) => unsafe {
            std::mem::transmute::<*const c_void, extern "C" fn(f32) -> u16>(f as *const c_void)(value)
        },
        None => 0,
    }
}

/// Calls `aclFloat16ToFloat`. Separate from `Function::call` because floats are passed in other registers.
pub fn half_to_float(value: u16) -> f32 {
    match function(c"aclFloat16ToFloat").0 {
        // SAFETY: the C signature is `float(uint16_t)`.
        Some(f) => unsafe {
            std::mem::transmute::<*const c_void, extern "C" fn(u16) -> f32>(f as *const c_void)(value)
        },
        None => 0.0,
    }
}

/// Copies a string that the library returned, which is valid until the next call. `None` if the pointer is null.
pub fn text(address: u64) -> Option<String> {
    if address == 0 {
        return None;
    }
    // SAFETY: the library returns zero-terminated strings.
    Some(unsafe { CStr::from_ptr(address as *const _) }.to_string_lossy().into_owned())
}

/// Copies memory whose validity the Python caller guarantees.
pub fn bytes_at(address: u64, size: usize) -> Vec<u8> {
    // SAFETY: the Python caller promises readable memory, as with pyACL.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }.to_vec()
}

/// Copies an `int` array that the library returned.
pub fn ints_at(address: u64, count: usize) -> Vec<i32> {
    // SAFETY: the library returned this array with this length.
    unsafe { std::slice::from_raw_parts(address as *const i32, count) }.to_vec()
}
