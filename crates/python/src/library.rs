//! `libascendcl.so`: found, loaded and called. The only file of the module that is unsafe.
//!
//! Every C function that the table names takes integers and pointers, which both calling conventions
//! of the supported processors pass alike, as 64-bit words. So one way of calling serves them all.

use pyo3::PyResult;
use pyo3::exceptions::PyImportError;
use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "libascendcl.so";
/// Words at most; no function of the interface has more arguments.
pub const MAX_WORDS: usize = 10;
pub const NOT_SUPPORTED: i32 = 207_000;

struct Handle(*mut c_void);

// SAFETY: a library handle may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

static LIBRARY: OnceLock<Handle> = OnceLock::new();

/// Loads the library: the one that is in the process, then the one beside this module, then the one of
/// the loader's search path.
pub fn load() -> PyResult<()> {
    if LIBRARY.get().is_some() {
        return Ok(());
    }
    // One that is already in the process is the one: there must not be two engines.
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

/// Opens a library, or says why not.
fn open(path: &Path, flags: i32) -> Result<Handle, String> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("paths have no zeros");
    // SAFETY: loading runs the library's initialisers, which have none of ours to fear.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | flags) };
    if !handle.is_null() {
        return Ok(Handle(handle));
    }
    // SAFETY: the message belongs to the loader and is copied at once.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return Err("it is not loaded".to_owned());
    }
    // SAFETY: as above; it is a text that ends with a zero.
    Err(unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned())
}

fn candidates() -> Vec<PathBuf> {
    let mut all = Vec::new();
    if let Some(here) = own_directory() {
        // In a wheel, and in an installation.
        all.extend(["softacl/lib64", "../../lib64"].map(|place| here.join(place).join(NAME)));
        all.retain(|path| path.exists());
    }
    all.push(PathBuf::from(NAME));
    all
}

/// The directory that holds this module.
fn own_directory() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of this very function; the result is written by the loader.
    let found = unsafe { libc::dladdr(own_directory as *const c_void, info.as_mut_ptr()) };
    if found == 0 {
        return None;
    }
    // SAFETY: dladdr succeeded, so the fields are set; the name lives as long as the module.
    let name = unsafe { CStr::from_ptr(info.assume_init().dli_fname) };
    let path = std::fs::canonicalize(name.to_str().ok()?).ok()?;
    path.parent().map(PathBuf::from)
}

/// A function of the library; it may be missing in an older one.
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
    // SAFETY: a C function that takes up to ten words; further ones are ignored by the callee.
    Function(Some(unsafe {
        std::mem::transmute::<*mut c_void, extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64>(
            address,
        )
    }))
}

impl Function {
    /// Calls with words; a missing function answers "not supported".
    #[inline]
    pub fn call(self, w: &[u64; MAX_WORDS]) -> u64 {
        match self.0 {
            Some(function) => function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9]),
            None => NOT_SUPPORTED as u64,
        }
    }

    /// Calls a function that returns a code.
    pub fn code(self, words: &[u64]) -> i32 {
        let mut all = [0; MAX_WORDS];
        all[..words.len()].copy_from_slice(words);
        self.call(&all) as i32
    }
}

/// Tells a checker, if there is one, where the Python program is: calls that can block let go of the
/// interpreter's lock, and then nobody may ask.
#[inline]
pub fn save_frames() {
    static NOTE: OnceLock<Option<Function>> = OnceLock::new();
    let checking = || function(c"softaclIsChecking").0.is_some_and(|is| is(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) as i32 != 0);
    if let Some(note) = NOTE.get_or_init(|| checking().then(|| function(c"softaclNotePlace"))) {
        note.call(&[0; MAX_WORDS]);
    }
}

/// Calls a function that takes or returns floats, which travel in other registers.
pub fn float_to_half(value: f32) -> u16 {
    match function(c"aclFloatToFloat16").0 {
        // SAFETY: the C signature is `uint16_t(float)`.
        Some(f) => unsafe {
            std::mem::transmute::<*const c_void, extern "C" fn(f32) -> u16>(f as *const c_void)(value)
        },
        None => 0,
    }
}

/// As above, the other way.
pub fn half_to_float(value: u16) -> f32 {
    match function(c"aclFloat16ToFloat").0 {
        // SAFETY: the C signature is `float(uint16_t)`.
        Some(f) => unsafe {
            std::mem::transmute::<*const c_void, extern "C" fn(u16) -> f32>(f as *const c_void)(value)
        },
        None => 0.0,
    }
}

/// A text that the library returned; it stays valid until the next call.
pub fn text(address: u64) -> Option<String> {
    if address == 0 {
        return None;
    }
    // SAFETY: the library returns texts that end with a zero.
    Some(unsafe { CStr::from_ptr(address as *const _) }.to_string_lossy().into_owned())
}

/// A copy of memory that the caller vouches for.
pub fn bytes_at(address: u64, size: usize) -> Vec<u8> {
    // SAFETY: the Python caller promises readable memory, as with pyACL.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }.to_vec()
}

/// An `int` array that the library returned.
pub fn ints_at(address: u64, count: usize) -> Vec<i32> {
    // SAFETY: the library returned this array with this length.
    unsafe { std::slice::from_raw_parts(address as *const i32, count) }.to_vec()
}
