//! The checker: an observer of the engine that proves misuse of asynchronous copies.
//!
//! | module | contents |
//! | --- | --- |
//! | `finding` | findings as data |
//! | `report` | rendering of findings as text, JSON, SARIF and HTML; suppressions |
//! | `clock`, `ledger`, `ranges` | happens-before order, pending accesses, written bytes: pure data structures |
//! | `guard`, `snapshot` | detection of host accesses to memory in flight: page protection and comparison |
//! | `races`, `touches`, `life`, `refusals` | the checks, one module per family of findings |
//! | `operation`, `backtrace`, `python`, `source_path` | records of operations with their source locations |
//! | `call` | the calling thread: its id, its API function, the global order of operations |
//! | `api` | properties of API functions that the checks depend on |
//! | `interposer` | connection to the `LD_PRELOAD` library: locks, threads, system calls |
//! | `state`, `checker` | the state, and the observer callbacks that update it |
//!
//! It does not modify the engine: it receives callbacks and keeps its own state. The one exception is the memory
//! protection of pinned memory, which [`softacl_engine::observer::Observer::guards`] requests.

mod api;
mod backtrace;
mod call;
mod checker;
mod clock;
pub mod finding;
mod guard;
pub mod interposer;
mod ledger;
mod life;
mod operation;
mod python;
mod races;
mod ranges;
mod refusals;
pub mod report;
mod snapshot;
mod source_path;
mod state;
mod touches;

pub use checker::{Checker, RunInfo};
pub use python::save_frames;
