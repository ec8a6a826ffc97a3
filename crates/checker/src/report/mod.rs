//! The report, for people and for machines.
//!
//! [`Outcome`] is what a command found, folded over its processes and runs. The renderers only read it.

pub mod finding_kind;
pub(crate) mod format;
pub mod html;
pub mod json;
mod outcome;
pub mod sarif;
mod source;
pub mod suppression;
pub mod text;
mod timeline_svg;

#[cfg(test)]
mod browser;
#[cfg(test)]
pub(crate) mod example;

pub use format::{escape, quote};
pub use outcome::{MergedFinding, Outcome, Process};
