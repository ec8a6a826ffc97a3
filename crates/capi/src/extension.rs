//! Functions of softacl's own, declared in `softacl/softacl.h`.

use crate::door::{doors, out};
use softacl_engine::{Error, fail, fault};
use std::ffi::{c_char, c_void};

doors! {
    /// The address at which host code that plays the part of a kernel may touch device memory.
    fn softaclHostView(pointer: *mut c_void, size: usize, view: *mut *mut c_void) |caller| {
        if pointer.is_null() {
            return fail(Error::Null("devPtr"));
        }
        let view = out(view, "hostPtr")?;
        view.set(caller.host_view(pointer as usize, size)? as *mut c_void)
    }
}

/// Tells about failed tasks whose error no wait ever returned: their number, and a line for each in `text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclUnobservedErrors(text: *mut c_char, size: usize) -> usize {
    let Ok(machine) = crate::process::machine() else { return 0 };
    let failures = machine.unobserved_failures();
    if !text.is_null() && size > 0 {
        let lines: Vec<String> = failures.iter().map(|error| format!("{}: {error}", error.code())).collect();
        let mut bytes = lines.join("\n").into_bytes();
        bytes.truncate(size - 1);
        bytes.push(0);
        if !fault::write_out(text as usize, &bytes) {
            return 0;
        }
    }
    failures.len()
}

#[unsafe(no_mangle)]
pub extern "C" fn softaclVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
