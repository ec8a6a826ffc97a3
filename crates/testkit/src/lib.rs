//! What the tests stand on: random programs and a sequential reference model.
//!
//! A program is a list of abstract operations. The `world` runs it on a real machine and on plain
//! vectors at the same time. Before an operation touches bytes that another stream has not finished
//! with, the world orders the two, with an event or with a wait; so every program is free of races,
//! its result is that of running the calls one after the other, and any schedule must reach it.

pub mod faults;
pub mod memory;
pub mod order;
pub mod program;
pub mod scenario;
pub mod shrink;
pub mod world;

pub use program::{ApiCall, Program};
pub use world::{Setup, run, run_on};
