//! Definitions of the AscendCL API: constants, C types, error codes and the manifest of all public functions.
//!
//! There is no behavior here. Constants and manifest are generated from `tables/`; the structs are written by hand and
//! checked against `tables/layout.tsv`.

pub mod manifest;
pub mod types;

/// Every enumerator and macro constant of the public headers.
pub mod constants {
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

pub use constants::*;
pub use manifest::{ByteCount, FUNCTIONS, Family, Function, Priority, Support, rows};
pub use types::*;

/// Returns the name of an error code, as the headers spell it. `None` if the code is unknown.
pub fn code_name(code: i32) -> Option<&'static str> {
    if code == 0 {
        return Some("ACL_SUCCESS");
    }
    CODES.iter().find(|(value, _)| *value == code).map(|(_, name)| *name)
}
