//! Which library the functions come from: found and loaded once, at first use, and never unloaded.

use super::Functions;
use crate::error::{Error, Result};
use ascendcl_sys::{ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_UNINITIALIZE};
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "libascendcl.so";
const VARIABLE: &str = "ASCENDCL_LIBRARY";

/// Where the functions come from.
///
/// ```
/// use ascendcl::raw::{Origin, loaded};
/// match loaded()? {
///     Origin::Loaded(path) => println!("{}", path.display()),
///     other => println!("{other}"),
/// }
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A library that was loaded, as it was named to the loader.
    Loaded(PathBuf),
    /// The softacl that is part of the program.
    Bundled,
    /// Functions that the program brought itself, with [`install`].
    Installed,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Loaded(path) => write!(f, "{}", path.display()),
            Origin::Bundled => f.write_str("the softacl that is part of this program"),
            Origin::Installed => f.write_str("the library that this program brought itself"),
        }
    }
}

struct Library {
    functions: Functions,
    origin: Origin,
}

static LIBRARY: OnceLock<Result<Library>> = OnceLock::new();

/// Loads the library if that has not happened, and says where it was found.
///
/// Looked for in this order: the file that `ASCENDCL_LIBRARY` names, and no other if it is set; `libascendcl.so` on
/// the loader's search path; `$ASCEND_HOME_PATH/lib64`; beside the program and in its `../lib64`; the softacl that the
/// feature `bundled` makes part of the program. With the feature `bundled-only`, only the first and the last.
///
/// ```
/// println!("AscendCL comes from {}", ascendcl::raw::loaded()?);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub fn loaded() -> Result<&'static Origin> {
    library().map(|library| &library.origin)
}

/// Brings the functions instead of loading them: a library of one's own, or a fake one for a test.
/// An error when a library is in use already.
///
/// ```
/// use ascendcl::raw::{self, Functions};
///
/// // SAFETY: a library without functions.
/// raw::install(unsafe { Functions::look_up(|_| std::ptr::null()) })?;
/// let error = ascendcl::Device::new(0).unwrap_err();
/// assert!(error.to_string().contains("does not have this function"), "{error}");
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub fn install(functions: Functions) -> Result<()> {
    let late = |_| {
        let why = "another library is in use already: bring yours before the first call".to_owned();
        Error::new(ACL_ERROR_REPEAT_INITIALIZE, "raw::install", why)
    };
    LIBRARY.set(Ok(Library { functions, origin: Origin::Installed })).map_err(late)
}

#[inline]
pub(super) fn functions() -> Result<&'static Functions> {
    library().map(|library| &library.functions)
}

#[inline]
fn library() -> Result<&'static Library> {
    match LIBRARY.get() {
        Some(Ok(library)) => Ok(library),
        _ => load(),
    }
}

#[cold]
fn load() -> Result<&'static Library> {
    let found = || find().and_then(|library| initialise(&library.functions).map(|()| library));
    LIBRARY.get_or_init(found).as_ref().map_err(Clone::clone)
}

fn initialise(functions: &Functions) -> Result<()> {
    let Some(initialise) = functions.aclInit else { return Ok(()) };
    // SAFETY: NULL means no configuration file.
    match unsafe { initialise(std::ptr::null()) } {
        // Somebody else in the process may have done it before us.
        0 | ACL_ERROR_REPEAT_INITIALIZE => Ok(()),
        code => Err(Error::new(code, "aclInit", "the library was loaded and cannot be initialised".to_owned())),
    }
}

fn find() -> Result<Library> {
    let mut tried = Vec::new();
    for path in candidates() {
        match open(&path) {
            Ok(handle) => {
                // SAFETY: the functions of a library of this name have the signatures of the interface.
                let functions = unsafe { Functions::look_up(|name| symbol(handle, name)) };
                return Ok(Library { functions, origin: Origin::Loaded(path) });
            }
            Err(why) => tried.push(why),
        }
    }
    bundled().ok_or_else(|| {
        let tried = tried.join("; ");
        let sentence = format!(
            "no AscendCL library was found; tried {tried}. Name one with {VARIABLE}, or put its directory into \
             LD_LIBRARY_PATH, or build with the feature `bundled`"
        );
        Error::new(ACL_ERROR_UNINITIALIZE, "dlopen", sentence)
    })
}

#[cfg(feature = "bundled")]
fn bundled() -> Option<Library> {
    // A library that was asked for by name is not replaced by another.
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    // SAFETY: the functions are those of the crate that exports them for C.
    let functions = unsafe { Functions::look_up(super::bundled) };
    Some(Library { functions, origin: Origin::Bundled })
}

#[cfg(not(feature = "bundled"))]
fn bundled() -> Option<Library> {
    None
}

fn candidates() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return vec![named.into()];
    }
    if cfg!(feature = "bundled-only") {
        return Vec::new();
    }
    let mut all = vec![PathBuf::from(NAME)];
    if let Some(home) = std::env::var_os("ASCEND_HOME_PATH") {
        all.push(Path::new(&home).join("lib64").join(NAME));
    }
    if let Some(beside) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        all.extend([beside.join(NAME), beside.join("../lib64").join(NAME)]);
    }
    all
}

/// Opens a library, or says why not.
fn open(path: &Path) -> Result<*mut c_void, String> {
    let Ok(name) = CString::new(path.as_os_str().as_encoded_bytes()) else {
        return Err(format!("{}: a path cannot contain a zero", path.display()));
    };
    // SAFETY: loading runs the initialisers of the library that the user chose.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the message belongs to the loader and is copied at once.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return Err(format!("{}: it cannot be loaded", path.display()));
    }
    // SAFETY: as above; it is a text that ends with a zero.
    Err(unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned())
}

fn symbol(handle: *mut c_void, name: &CStr) -> *const c_void {
    // SAFETY: the handle is of a library that was opened just now and is never closed.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}
