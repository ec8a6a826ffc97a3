//! Version queries. The answer is the CANN version that the process reproduces.

use crate::door::{doors, out, text};
use ascendcl_sys::*;
use softacl_engine::{Caller, Error};
use std::ffi::c_char;

const NAMES: [&str; 8] = ["cann", "runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver"];

/// A failure with a code that belongs to files, which the engine has none of.
fn not_found(function: &str, what: &str) -> aclError {
    let text = format!("[EH0001] {function} failed with {ACL_ERROR_INVALID_FILE} (ACL_ERROR_INVALID_FILE): no package {what:?}; known: {NAMES:?}.");
    crate::message::add(text);
    ACL_ERROR_INVALID_FILE
}

doors! {
    fn aclrtGetVersion(major: *mut i32, minor: *mut i32, patch: *mut i32) |_caller| {
        let (major, minor, patch) = (out(major, "majorVersion")?, out(minor, "minorVersion")?, out(patch, "patchVersion")?);
        major.set(ACL_MAJOR_VERSION)?;
        minor.set(ACL_MINOR_VERSION)?;
        patch.set(ACL_PATCH_VERSION)
    }

    fn aclsysGetCANNVersion(package: i32, version: *mut aclCANNPackageVersion) |caller| {
        let version = out(version, "version")?;
        if usize::try_from(package).ok().and_then(|index| NAMES.get(index)).is_none() {
            return Err(Error::Argument(format!("package {package} is not in 0 to {}", NAMES.len() - 1)));
        }
        let whole = this_version(caller);
        let part = |index| whole.split('.').nth(index).unwrap_or("");
        version.set(aclCANNPackageVersion {
            version: chars(&whole),
            majorVersion: chars(part(0)),
            minorVersion: chars(part(1)),
            releaseVersion: chars(part(2)),
            patchVersion: chars(""),
            reserved: [0; 128],
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclsysGetVersionStr(package: *mut c_char, version: *mut c_char) -> aclError {
    let mut known = true;
    let code = crate::door::enter("aclsysGetVersionStr", |caller| {
        let name = text(package, "pkgName")?.ok_or(Error::Null("pkgName"))?;
        let version = out(version.cast::<[c_char; 128]>(), "versionStr")?;
        known = is_known(&name);
        if known { version.set(chars(&this_version(caller))) } else { Ok(()) }
    });
    if known { code } else { not_found("aclsysGetVersionStr", "given") }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclsysGetVersionNum(package: *mut c_char, number: *mut i32) -> aclError {
    let mut known = true;
    let code = crate::door::enter("aclsysGetVersionNum", |caller| {
        let name = text(package, "pkgName")?.ok_or(Error::Null("pkgName"))?;
        let number = out(number, "versionNum")?;
        known = is_known(&name);
        if !known {
            return Ok(());
        }
        let weights = [10_000_000, 100_000, 1_000];
        let parts = this_version(caller);
        let parts = parts.split('.').map(|part| part.parse::<i32>().unwrap_or(0));
        number.set(parts.zip(weights).map(|(part, weight)| part * weight).sum())
    });
    if known { code } else { not_found("aclsysGetVersionNum", "given") }
}

fn is_known(name: &str) -> bool {
    NAMES.contains(&name.replace('-', "_").as_str())
}

fn this_version(caller: Caller<'_>) -> String {
    caller.machine().config().cann.version.clone()
}

/// A text in a C array, cut to fit and ended by a zero.
pub(crate) fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (cell, byte) in array[..N - 1].iter_mut().zip(text.bytes()) {
        *cell = byte as c_char;
    }
    array
}
