//! What a client finds around the libraries: the tree of a toolkit, its environment variables, and files at fixed places
//! of the system.
//!
//! `cargo xtask install` writes the tree to a prefix. `softacl run` in a build writes it to a private directory, so a
//! program finds the same files and variables in both. The built libraries, the headers and the Python package are not
//! here: they come from the build.

mod files;
mod host_files;
mod places;
mod tree;
mod variables;
mod versions;

pub use files::{write_file, write_link};
pub use host_files::{HostFile, HostNode, address_of_device, host_files};
pub use places::{ACLNN_LIBRARIES, LIBRARIES, LINKED_LIBRARIES, STUB_LIBRARIES};
pub use tree::write;
pub use variables::{Options, SCRIPT_OPTIONS, VARIABLES, Variable, environment, script};
