//! The checker: an observer of the engine that proves misuse of asynchronous copies.
//!
//! | file | what it is |
//! | --- | --- |
//! | `finding` | what is said, as data |
//! | `report` | how it is said: text, JSON, SARIF, HTML |
//! | `suppression` | what not to say |
//! | `clock`, `ledger`, `ranges` | order, accesses, written bytes: pure |
//! | `guard`, `fingerprint` | how touches of host memory are noticed |
//! | `races`, `touches`, `life`, `refusals` | the rules, one file per family of findings |
//! | `operation`, `place`, `python` | what was done and where in the program |
//! | `interposer` | what another library in the program saw: locks, threads, system calls |
//! | `state`, `checker` | what is known, and the facts that make it known |
//!
//! It changes nothing in the engine: it is told facts and keeps books.

mod backtrace;
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
mod state;
mod touches;

pub use checker::{Checker, RunInfo};
pub use python::save_frames;
