//! The checker: an observer of the engine that proves misuse of asynchronous copies.

pub mod finding;
pub mod report;
