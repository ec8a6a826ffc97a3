//! Version files that exist in the tree and at a fixed place of the system.

/// `version.info` of the driver. There is no driver: the version is that of the toolkit.
pub(crate) fn driver_version(version: &str) -> String {
    format!("Version={version}\npackage_version={version}\nInnerversion=softacl\n")
}
