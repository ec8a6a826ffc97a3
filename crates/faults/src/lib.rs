//! Fault injection: rules that make calls, tasks, memory, links, devices and system resources fail.
//!
//! This crate is the language and the bookkeeping: it parses rules ([`parse`]), decides which rule fires
//! ([`Injection::first_firing`]), records damage ([`Damage`]), and refuses system resources ([`system`]). It does not
//! depend on tasks, streams or devices: the engine calls it when a task is submitted, in blocking copies and in
//! allocations, and the entry layer of the C API calls it for API calls. The outcome for a task is decided when the
//! task is submitted, so it does not depend on when and where the task runs.
//!
//! A fault is always an injected fault here. The handler of SIGSEGV and SIGBUS is `segv` in the memory crate.

mod damage;
mod injection;
mod parse;
mod rule;
pub mod system;

#[cfg(test)]
mod tests;

pub use damage::{BadRange, Damage, DeviceHealth, ECC, HEARTBEAT, LINK};
pub use injection::{FiredRule, Injection};
pub use parse::{RuleError, Vocabulary, parse};
pub use rule::{ByteRange, Comparison, Effect, Filters, InjectionPoint, MatchContext, Resource, Rule, TaskKind, When};

/// Maximum number of devices of a machine (specification 4.2).
pub const MAX_DEVICES: usize = 64;
