//! Functions of softacl's own, declared in `softacl/softacl.h`.

use crate::door::{doors, out};
use softacl_engine::Error;
use std::ffi::{c_char, c_void};

doors! {
    /// The address at which host code that plays the part of a kernel may touch device memory.
    fn softaclHostView(pointer: *mut c_void, size: usize, view: *mut *mut c_void) |caller| {
        if pointer.is_null() {
            return Err(Error::Null("devPtr"));
        }
        let view = out(view, "hostPtr")?;
        view.set(caller.host_view(pointer as usize, size)? as *mut c_void)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn softaclVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
