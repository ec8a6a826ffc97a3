//! CANN versions: the behavior that differs between them and that a program can observe.

use crate::ProfileError;
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

/// One CANN version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cann {
    pub version: String,
    pub zero_count: ZeroCount,
    pub async_h2h: AsyncHostToHost,
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
        assert!(cann(Some("8.5")).unwrap().captures_host_functions);
        assert!(!cann(Some("8.0")).unwrap().captures_host_functions);
        assert!(cann(Some("6.0")).is_err());
        assert!(cann(Some("")).is_err());
    }
}
