//! Chips and CANN versions as data.
//!
//! A profile says what a client can observe of a product: limits, which copies exist, descriptor
//! size, links. Each number has its source, which may be that it is unverified. No code elsewhere asks
//! which chip it is.

mod cann;
mod chip;

pub use cann::{AsyncHostToHost, Cann, ZeroCount, cann, cann_versions};
pub use chip::{Chip, CopyTraits, Cores, Features, Form, Limits, Link, PeerTraits, Profile, chips, profile};

/// Why a profile could not be chosen. The text names what was given and what there is.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProfileError {
    #[error("unknown chip {given:?}; known families: {known}; or a full name such as Ascend910B3")]
    UnknownChip { given: String, known: String },
    #[error("{family} has no {form} form; it has: {known}")]
    UnknownForm { family: String, form: String, known: String },
    #[error("unknown CANN version {given:?}; known: {known}")]
    UnknownCann { given: String, known: String },
}
