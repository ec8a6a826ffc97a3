//! Reports for people and for programs.
//!
//! [`Outcome`] is the result of a command, merged over its processes and runs. The renderers only read it.

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
