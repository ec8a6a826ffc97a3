//! CANN versions: the behavior that differs between them and that a program can observe.

use crate::{Chip, ProfileError};
use serde::Deserialize;
use std::sync::LazyLock;

/// Result of a zero-length copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroCount {
    /// Returns 0 before any other check.
    Success,
    /// Returns 107000 after the null checks.
    Invalid,
}

/// Result of an asynchronous copy from host memory to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AsyncHostToHost {
    /// The call returns 207000.
    Refused,
    /// The call succeeds and the task fails.
    FailsLate,
}

/// Products to which a rule of a version applies, by their column of the product table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Products(Vec<String>);

impl Products {
    /// True if the rule applies to a chip.
    pub fn include(&self, chip: &Chip) -> bool {
        self.0.contains(&chip.product)
    }
}

/// One CANN version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cann {
    pub version: String,
    pub zero_count: ZeroCount,
    pub async_h2h: AsyncHostToHost,
    /// Number of copy kinds: kinds are 0 to `copy_kinds - 1`.
    pub copy_kinds: i32,
    /// Alignment of asynchronous copies that the documentation requires, in bytes; 1 if none.
    pub copy_alignment: usize,
    /// Where `aclrtStreamStop` accepts only streams that were created for use by the device.
    #[serde(default)]
    pub stop_device_streams: Products,
    /// Where `aclrtStreamAbort` accepts the default stream.
    #[serde(default)]
    pub abort_default_stream: Products,
    /// Where a priority outside the range is an error.
    #[serde(default)]
    pub refuse_priority: Products,
    /// Where each context uses streams of the limit of its device.
    #[serde(default)]
    pub context_streams: Products,
    /// True if `aclrtLaunchHostFunc` on a capturing stream is captured. Otherwise it returns 207000.
    pub captures_host_functions: bool,
}

#[derive(Deserialize)]
struct Table {
    versions: Vec<Cann>,
}

static VERSIONS: LazyLock<Vec<Cann>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("../cann.toml")).expect("cann.toml is valid");
    table.versions
});

/// Returns all known versions, newest first.
pub fn cann_versions() -> &'static [Cann] {
    &VERSIONS
}

/// Returns the version with this name: exact, or by its leading parts ("9", "8.5"). `None` selects the newest.
pub fn cann(name: Option<&str>) -> Result<&'static Cann, ProfileError> {
    let Some(name) = name else { return Ok(&VERSIONS[0]) };
    let wanted: Vec<&str> = name.split('.').collect();
    VERSIONS
        .iter()
        .find(|known| known.version.split('.').zip(&wanted).all(|(a, b)| a == *b) && wanted.len() <= 3)
        .filter(|_| !name.is_empty())
        .ok_or_else(|| ProfileError::UnknownCann {
            given: name.to_owned(),
            known: VERSIONS.iter().map(|v| v.version.as_str()).collect::<Vec<_>>().join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_prefix() {
        assert_eq!(cann(None).unwrap().version, "9.2.0");
        assert_eq!(cann(Some("9.0")).unwrap().zero_count, ZeroCount::Invalid);
        assert_eq!(cann(Some("8.5.0")).unwrap().version, "8.5.0");
        assert_eq!(cann(Some("8.1")).unwrap().copy_kinds, 5);
        assert_eq!(cann(Some("8.5")).unwrap().copy_kinds, 8);
        let alignment = |name| cann(Some(name)).unwrap().copy_alignment;
        assert_eq!((alignment("8.5"), alignment("9.0")), (64, 1));
        assert!(cann(Some("8.5")).unwrap().captures_host_functions);
        assert!(!cann(Some("8.0")).unwrap().captures_host_functions);
        assert!(cann(Some("6.0")).is_err());
        assert!(cann(Some("")).is_err());
    }

    #[test]
    fn lists_of_products_name_existing_ones() {
        for version in cann_versions() {
            let lists = [
                &version.stop_device_streams,
                &version.abort_default_stream,
                &version.refuse_priority,
                &version.context_streams,
            ];
            for product in lists.into_iter().flat_map(|list| &list.0) {
                let exists = crate::chips().iter().any(|chip| chip.product == *product);
                assert!(exists, "{} of version {}", product, version.version);
            }
        }
        let a2 = crate::profile(None, None).unwrap().chip;
        assert!(cann(Some("9.0")).unwrap().stop_device_streams.include(a2));
        assert!(!cann(Some("9.1")).unwrap().stop_device_streams.include(a2));
    }
}
