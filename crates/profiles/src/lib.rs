//! Chips and CANN versions as data.
//!
//! A profile describes what a program can observe of a product: limits, available copies, descriptor size, links.
//! Each number has its source, or is marked as unverified. Other crates read the values of a profile and never test
//! for a particular chip.

mod cann;
mod chip;
mod figure;
mod suggest;

pub use cann::{AsyncHostToHost, Cann, Products, ZeroCount, cann, cann_versions};
pub use chip::{
    Chip, CopyTraits, Cores, DeviceLink, Features, Form, Limits, Link, MemoryType, PeerTraits, Profile, chips, profile,
};

pub use figure::{Figure, FigureName, Figures, Quality, Unit};
pub use suggest::closest_match;

/// Reason why no profile matches. The message contains the given name and the known ones.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProfileError {
    #[error("unknown chip {given:?}; {hint}known families: {known}; or a full name such as Ascend910B3")]
    UnknownChip { given: String, hint: String, known: String },
    #[error("{family} has no {form} form; it has: {known}")]
    UnknownForm { family: String, form: String, known: String },
    #[error("unknown CANN version {given:?}; known: {known}")]
    UnknownCann { given: String, known: String },
    #[error("figures: {why}")]
    Figure { why: String },
}
