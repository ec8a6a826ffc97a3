//! Library selection. The library is searched for and loaded once, at first use, and never unloaded.

use super::table::Functions;
use crate::error::{Error, Result};
use ascendcl_sys::{ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_UNINITIALIZE};
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "libascendcl.so";
const VARIABLE: &str = "ASCENDCL_LIBRARY";

/// The source of the AscendCL functions. Returned by [`loaded`].
///
/// ```
/// use ascendcl::raw::{Origin, loaded};
/// match loaded()? {
///     Origin::Loaded(path) => println!("{}", path.display()),
///     other => println!("{other}"),
/// }
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// A shared library, with the path that was passed to the loader.
    Loaded(PathBuf),
    /// The softacl that is linked into the program (feature `bundled`).
    Bundled,
    /// Functions that the program provided with [`install`].
    Installed,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Loaded(path) => write!(f, "{}", path.display()),
            Origin::Bundled => f.write_str("the bundled softacl"),
            Origin::Installed => f.write_str("the installed function table"),
        }
    }
}

struct Library {
    functions: Functions,
    origin: Origin,
}

static LIBRARY: OnceLock<Result<Library>> = OnceLock::new();

/// Loads the library if necessary and returns where it was found.
///
/// The first library that can be loaded is used, in this order:
///
/// 1. The file that `ASCENDCL_LIBRARY` names. If this variable is set, nothing else is tried.
/// 2. `libascendcl.so` on the loader's search path.
/// 3. `$ASCEND_HOME_PATH/lib64/libascendcl.so`.
/// 4. `libascendcl.so` in the directory of the program, and in its `../lib64`.
/// 5. The bundled softacl (feature `bundled`).
///
/// The feature `bundled-only` restricts this list to 1 and 5. The library is initialized with `aclInit`.
///
/// # Errors
///
/// Fails with [`NotInitialized`](crate::ErrorKind::NotInitialized) if no library can be loaded; the message lists all
/// candidates. Also fails if the library cannot be initialized. All later calls return the same error.
///
/// ```
/// println!("AscendCL comes from {}", ascendcl::raw::loaded()?);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub fn loaded() -> Result<&'static Origin> {
    library().map(|library| &library.origin)
}

/// Uses these functions instead of loading a library, for example a fake library for a test.
///
/// The functions are used as they are: `aclInit` is not called.
///
/// # Errors
///
/// Fails if a library is already in use. Call this before any other function of the crate.
///
/// ```
/// use ascendcl::raw::{self, Functions};
///
/// // SAFETY: NULL is allowed for every name.
/// raw::install(unsafe { Functions::load_with(|_| std::ptr::null()) })?;
/// let error = ascendcl::Device::new(0).unwrap_err();
/// assert!(error.to_string().contains("does not have this function"), "{error}");
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub fn install(functions: Functions) -> Result<()> {
    let late = |_| {
        let message = "a library is already in use: call `install` before any other function".to_owned();
        Error::new(ACL_ERROR_REPEAT_INITIALIZE, "raw::install", message)
    };
    LIBRARY.set(Ok(Library { functions, origin: Origin::Installed })).map_err(late)
}

/// Returns the functions of the library, which is loaded if necessary. See [`loaded`].
///
/// # Errors
///
/// Fails if no library can be loaded or initialized.
///
/// ```
/// use ascendcl::raw;
///
/// let functions = raw::functions()?;
/// assert!(functions.aclrtMemcpyAsync().is_some());
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[inline]
pub fn functions() -> Result<&'static Functions> {
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
    let found = || find().and_then(|library| initialize(&library.functions).map(|()| library));
    LIBRARY.get_or_init(found).as_ref().map_err(Clone::clone)
}

fn initialize(functions: &Functions) -> Result<()> {
    let Some(initialize) = functions.aclInit else { return Ok(()) };
    // SAFETY: NULL means no configuration file.
    match unsafe { initialize(std::ptr::null()) } {
        // Other code of the process may have initialized the library.
        0 | ACL_ERROR_REPEAT_INITIALIZE => Ok(()),
        code => Err(Error::new(code, "aclInit", "the library was loaded but cannot be initialized".to_owned())),
    }
}

fn find() -> Result<Library> {
    let mut tried = Vec::new();
    for path in candidates() {
        match open(&path) {
            Ok(handle) => {
                // SAFETY: a library of this name exports the AscendCL functions with their C signatures.
                let functions = unsafe { Functions::load_with(|name| symbol(handle, name)) };
                return Ok(Library { functions, origin: Origin::Loaded(path) });
            }
            Err(message) => tried.push(message),
        }
    }
    bundled().ok_or_else(|| {
        let tried = tried.join("; ");
        let message = format!(
            "no AscendCL library was found; tried {tried}. Set {VARIABLE} to a library, add its directory to \
             LD_LIBRARY_PATH, or build with the feature `bundled`"
        );
        Error::new(ACL_ERROR_UNINITIALIZE, "dlopen", message)
    })
}

#[cfg(feature = "bundled")]
fn bundled() -> Option<Library> {
    // If a library was named, no other library replaces it.
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    // SAFETY: `ascendcl-capi` exports the functions with their C signatures.
    let functions = unsafe { Functions::load_with(super::table::bundled) };
    Some(Library { functions, origin: Origin::Bundled })
}

#[cfg(not(feature = "bundled"))]
fn bundled() -> Option<Library> {
    None
}

/// Returns the paths to pass to the loader, in order.
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
    if let Some(directory) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        all.extend([directory.join(NAME), directory.join("../lib64").join(NAME)]);
    }
    all
}

/// Opens a library. The error is the message of the loader, which starts with the path.
fn open(path: &Path) -> Result<*mut c_void, String> {
    let Ok(name) = CString::new(path.as_os_str().as_encoded_bytes()) else {
        return Err(format!("{}: the path contains a NUL byte", path.display()));
    };
    // SAFETY: the path is NUL-terminated. Loading runs the initializers of the library that the user selected.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the message is valid until the next call of the loader, and is copied before.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return Err(format!("{}: cannot be loaded", path.display()));
    }
    // SAFETY: a NUL-terminated string that is valid until the next call of the loader.
    Err(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
}

fn symbol(handle: *mut c_void, name: &CStr) -> *const c_void {
    // SAFETY: the handle is that of an open library, which is never closed.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}
