//! Start and end of the operator interface. Both only check their arguments: the objects need no preparation.

use crate::program::read_text;
use crate::status::{Failure, SUCCESS, Status, finish};
use std::ffi::{OsStr, c_char};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

/// Maximum length of a path (PATH_MAX of Linux).
const MAX_PATH: usize = 4096;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclnnInit(path: *const c_char) -> Status {
    finish("aclnnInit", if path.is_null() { Ok(()) } else { check_config(path as usize) })
}

#[unsafe(no_mangle)]
pub extern "C" fn aclnnFinalize() -> Status {
    SUCCESS
}

/// Fails if the configuration cannot be read. Its options concern kernels.
fn check_config(address: usize) -> Result<(), Failure> {
    let path = read_text(address, MAX_PATH, "configPath")?;
    let path = OsStr::from_bytes(&path);
    let opened = File::open(path).map(|_| ());
    opened.map_err(|error| Failure::Invalid(format!("configPath {} cannot be read: {error}", path.display())))
}
