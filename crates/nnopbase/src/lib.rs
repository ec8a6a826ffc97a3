//! The objects of the operator interface (aclnn), which programs create, describe and pass to operators: the functions
//! of `libnnopbase.so`.
//!
//! A client library: it has no engine, no threads and no device. Operators are in the crate `softacl-opapi`, which
//! builds the shared object. A handle is a key, never an
//! address, so a stale, foreign or wild one is an error and not a crash. Arrays and results of the program are read and
//! written through the system, so a wild pointer is an error, too.

#![allow(non_snake_case)]
// The headers state what C programs promise; what can be checked is checked, see `program`.
#![allow(clippy::missing_safety_doc)]

pub mod access;
pub mod executor;
pub mod init;
pub mod lists;
pub mod objects;
pub mod program;
pub mod status;
pub mod table;
pub mod tensor;
pub mod values;
