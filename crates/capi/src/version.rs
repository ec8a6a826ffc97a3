//! Version queries. The version of a package comes from the installation that ASCEND_HOME_PATH names, if it has one;
//! otherwise it is the CANN version that softacl emulates.

use crate::argument::{OutPtr, TextPtr};
use crate::entry::{Call, CallError, export};
use ascendcl_sys::*;
use softacl_engine::{Error, fail};
use std::ffi::c_char;
use std::path::Path;
use std::{env, fs};

/// Packages that softacl emulates, in the order of the enumeration.
const NAMES: [&str; 8] = ["cann", "runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver"];

export! {
    fn aclrtGetVersion(major: OutPtr<i32>, minor: OutPtr<i32>, patch: OutPtr<i32>) |_call| {
        major.set(ACL_MAJOR_VERSION)?;
        minor.set(ACL_MINOR_VERSION)?;
        patch.set(ACL_PATCH_VERSION)
    }

    fn aclsysGetCANNVersion(package: i32, version: OutPtr<aclCANNPackageVersion>) |call| {
        let name = usize::try_from(package).ok().and_then(|index| NAMES.get(index));
        let Some(name) = name else {
            return fail(Error::Argument(format!("package {package} is not in 0 to {}", NAMES.len() - 1)));
        };
        let whole = find(call, name).unwrap_or_default();
        let part = |index| whole.split('.').nth(index).unwrap_or("");
        version.set(aclCANNPackageVersion {
            version: chars(&whole),
            majorVersion: chars(part(0)),
            minorVersion: chars(part(1)),
            releaseVersion: chars(part(2)),
            patchVersion: chars(part(3)),
            reserved: [0; 128],
        })
    }

    fn aclsysGetVersionStr(package: TextPtr<*mut c_char>, version: OutPtr<c_char>) -> Result<(), CallError> |call| {
        let found = package_version(call, package)?;
        Ok(version.cast::<[c_char; 128]>().set(chars(&found))?)
    }

    fn aclsysGetVersionNum(package: TextPtr<*mut c_char>, number: OutPtr<i32>) -> Result<(), CallError> |call| {
        let found = package_version(call, package)?;
        let unreadable = || CallError::code(ACL_ERROR_INTERNAL_ERROR, format!("version {found:?} is not a number"));
        Ok(number.set(version_number(&found).ok_or_else(unreadable)?)?)
    }
}

/// Finds the version of a package by its name.
fn package_version(call: Call<'_>, package: TextPtr<*mut c_char>) -> Result<String, CallError> {
    let name = package.read()?;
    find(call, &name).ok_or_else(|| CallError::code(ACL_ERROR_INVALID_FILE, format!("package {name:?} does not exist")))
}

/// Returns the version of a package. Tries both spellings, with `-` and with `_`.
fn find(call: Call<'_>, name: &str) -> Option<String> {
    let spellings = [name.to_owned(), name.replace('-', "_"), name.replace('_', "-")];
    let installed = env::var_os("ASCEND_HOME_PATH").and_then(|home| {
        let info = Path::new(&home).join("share/info");
        // A name must not lead out of the directory.
        let plain = spellings.iter().filter(|name| !name.contains(['/', '\0']) && *name != "..");
        plain.into_iter().find_map(|name| fs::read_to_string(info.join(name).join("version.info")).ok())
    });
    let of_file =
        installed.as_deref().and_then(|info| info.lines().find_map(|line| line.trim().strip_prefix("Version=")));
    match of_file {
        Some(version) => Some(version.trim().to_owned()),
        None => NAMES.contains(&spellings[1].as_str()).then(|| call.machine().config().cann.version.clone()),
    }
}

/// Computes major * 10,000,000 + minor * 100,000 + patch * 1,000, less 300, 200 or 100 (plus n) for an alpha,
/// beta or release candidate n.
fn version_number(version: &str) -> Option<i32> {
    let lower = version.to_ascii_lowercase();
    let mut total = 0;
    let (numbers, stage) = match ["alpha", "beta", "rc"]
        .iter()
        .find_map(|stage| lower.find(stage).map(|at| (at, *stage)))
    {
        Some((at, stage)) => (lower[..at].trim_end_matches(['.', '-', '_']), Some((&lower[at + stage.len()..], stage))),
        None => (lower.as_str(), None),
    };
    let mut parts = numbers.split('.');
    for weight in [10_000_000, 100_000, 1_000] {
        let Some(part) = parts.next() else { break };
        total += part.parse::<i32>().ok()? * weight;
    }
    if let Some((rest, stage)) = stage {
        let digits: String =
            rest.trim_start_matches(['.', '-', '_']).chars().take_while(char::is_ascii_digit).collect();
        let n: i32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        total += n - match stage {
            "alpha" => 300,
            "beta" => 200,
            _ => 100,
        };
    }
    Some(total)
}

/// Converts a text to a C array, truncated to fit and terminated by a zero.
pub(crate) fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (cell, byte) in array[..N - 1].iter_mut().zip(text.bytes()) {
        *cell = byte as c_char;
    }
    array
}

#[cfg(test)]
mod tests {
    use super::version_number;

    #[test]
    fn release_and_prerelease_versions_are_ordered_numbers() {
        assert_eq!(version_number("8.5.0"), Some(80_500_000));
        assert_eq!(version_number("9.1.0-beta.2"), Some(90_100_000 - 200 + 2));
        assert_eq!(version_number("8.0.RC3"), Some(80_000_000 - 100 + 3));
        assert_eq!(version_number("7.0.0.alpha001"), Some(70_000_000 - 300 + 1));
        assert_eq!(version_number("new"), None);
    }
}
