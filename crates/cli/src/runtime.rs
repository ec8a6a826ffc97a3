//! The runtime that the demo and the benchmark call: the softacl that is linked into this program. In a package, where a
//! second copy of the engine would be a third of its size, it is the library that the package contains.

use anyhow::Result;
use ascendcl::sys::{aclError, aclrtStream};
use ascendcl::{Context, Device};
use ascendcl_capi::kernel::{KernelFunction, KernelRange, KernelRelease};
use std::ffi::{c_char, c_void};

/// Signature of `softaclLaunchKernel`, which is an extension of softacl and no part of `ascendcl::raw`.
pub type LaunchKernel = unsafe extern "C" fn(
    aclrtStream,
    KernelFunction,
    *mut c_void,
    KernelRelease,
    *const KernelRange,
    usize,
    *const c_char,
) -> aclError;

/// Opens device 0 of the runtime.
pub fn device() -> Result<Context> {
    source::load()?;
    Ok(Device::new(0)?.new_context()?)
}

pub use source::launch_kernel;

#[cfg(feature = "bundled")]
mod source {
    use super::LaunchKernel;
    use anyhow::{Result, ensure};
    use ascendcl::raw::{self, Origin};

    pub fn load() -> Result<()> {
        let is_bundled = *raw::loaded()? == Origin::Bundled;
        ensure!(is_bundled, "this command runs the softacl inside this program: unset ASCENDCL_LIBRARY");
        Ok(())
    }

    pub fn launch_kernel() -> Result<LaunchKernel> {
        Ok(ascendcl_capi::kernel::softaclLaunchKernel)
    }
}

#[cfg(not(feature = "bundled"))]
mod source {
    use super::LaunchKernel;
    use crate::library;
    use anyhow::{Context as _, Result, ensure};
    use ascendcl::raw::{self, Functions};
    use std::ffi::{CStr, CString, c_void};
    use std::os::unix::ffi::OsStrExt as _;
    use std::ptr;
    use std::sync::OnceLock;

    /// The loaded library, as an address.
    static LIBRARY: OnceLock<usize> = OnceLock::new();

    pub fn load() -> Result<()> {
        let path = library::path()?;
        let name = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the name is a C string; the library may be loaded at any time, and is never unloaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        ensure!(!handle.is_null(), "could not load {}", path.display());
        LIBRARY.get_or_init(|| handle as usize);
        // SAFETY: the library of this package exports the functions with their C signatures.
        let functions = unsafe { Functions::load_with(symbol) };
        raw::install(functions)?;
        let initialize = functions.aclInit().context("the library has no aclInit")?;
        // SAFETY: NULL means no configuration file.
        let code = unsafe { initialize(ptr::null()) };
        ensure!(code == 0, "aclInit of {} returned {code}", path.display());
        Ok(())
    }

    pub fn launch_kernel() -> Result<LaunchKernel> {
        let found = symbol(c"softaclLaunchKernel");
        ensure!(!found.is_null(), "the library has no softaclLaunchKernel");
        // SAFETY: the function of this name has this signature.
        Ok(unsafe { std::mem::transmute::<*const c_void, LaunchKernel>(found) })
    }

    /// Address of a function of the library. NULL if it has none of this name or is not loaded.
    fn symbol(name: &CStr) -> *const c_void {
        let Some(handle) = LIBRARY.get() else { return ptr::null() };
        // SAFETY: the handle is that of a loaded library, and the name is a C string.
        unsafe { libc::dlsym(*handle as *mut c_void, name.as_ptr()) }
    }
}
