//! Directories of the libraries, relative to the root of the tree.

/// The libraries that work, all with the one engine behind them.
pub const LIBRARIES: &str = "lib64";
/// Stubs of other vendor libraries. A separate directory: `lib64` contains only libraries that work.
pub const STUB_LIBRARIES: &str = "stubs/lib64";
/// The objects of the operator interface. A separate directory, so that frameworks that prefer this interface where
/// they find it continue to use the operators that softacl has.
pub const ACLNN_LIBRARIES: &str = "aclnn/lib64";
/// Links to all libraries, for builds. Only linkers search it, never the loader.
pub const LINKED_LIBRARIES: &str = "lib64/stub";
