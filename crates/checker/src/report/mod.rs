//! The report, for people and for machines.
//!
//! [`Outcome`] is what a command found, folded over its processes and runs. The renderers only read it.

mod drawing;
pub mod html;
pub mod json;
mod outcome;
pub mod rule;
pub mod sarif;
mod source;
pub mod suppression;
pub mod text;
pub(crate) mod words;

#[cfg(test)]
mod browser;
#[cfg(test)]
pub(crate) mod example;

pub use outcome::{Case, Outcome, Process};
pub use words::{escape, quote};
