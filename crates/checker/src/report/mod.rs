//! Reports for people and for programs.
//!
//! [`Outcome`] is the result of a command, merged over its processes and runs. The renderers only read it.

pub mod exploration;
pub mod finding_kind;
pub(crate) mod format;
mod frames;
pub mod github;
pub mod html;
pub mod json;
pub mod markdown;
pub mod order_svg;
mod outcome;
mod process_races;
pub mod sarif;
mod slow_rank;
mod source;
pub mod suppression;
pub mod text;
mod timeline_svg;
mod unknown_writer;

#[cfg(test)]
mod browser;
#[cfg(test)]
pub(crate) mod example;

pub use format::{escape, quote};
pub use outcome::{MergedFinding, Outcome, Process};
pub use process_races::compare_processes;
pub use slow_rank::slow_rank;
