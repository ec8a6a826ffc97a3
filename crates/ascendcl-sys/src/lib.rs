//! The vocabulary of the AscendCL interface: constants, C types, error codes and the manifest of
//! all public functions.
//!
//! Nothing here does anything. Constants and manifest are generated from `tables/`; the structs
//! are written by hand and checked against `tables/layout.tsv`.

pub mod manifest;
pub mod types;

/// Every enumerator and macro constant of the public headers.
pub mod constants {
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

pub use constants::*;
pub use manifest::{FUNCTIONS, Function, Priority, Support};
pub use types::*;

/// The name of an error code, as the headers spell it.
pub fn code_name(code: i32) -> Option<&'static str> {
    if code == 0 {
        return Some("ACL_SUCCESS");
    }
    CODES.iter().find(|(value, _)| *value == code).map(|(_, name)| *name)
}
