//! The checker: an observer of the engine that proves misuse of asynchronous copies.
//!
//! | module | contents |
//! | --- | --- |
//! | `finding`, `finding_id` | findings as data, and the ids of their kinds |
//! | `unjudged` | what could not be judged, counted by reason |
//! | `report` | rendering of findings as text, JSON, SARIF and HTML; suppressions |
//! | `clock`, `ledger`, `ranges` | happens-before order, pending accesses, written bytes: pure data structures |
//! | `signals`, `mappings`, `freed_blocks` | cells that release streams, physical memory, blocks: likewise |
//! | `guard`, `snapshot`, `accessed_pages` | detection of host accesses to memory in flight: page protection and comparison |
//! | `indirect`, `unresolved_copies` | copies whose addresses are known only when they run |
//! | `hold` | accesses to memory of copies behind host functions |
//! | `waits`, `wait_log` | what releases each wait of a stream |
//! | `shared_log`, `shared_accesses`, `process_access` | accesses to memory of several processes |
//! | `races`, `blocks`, `touches`, `life`, `refusals` | the checks, one module per family of findings |
//! | `wait_graph`, `threads`, `look` | who waits for whom, and the proof that a program hangs |
//! | `hang`, `wait_text`, `system_call` | W1: the report of a hang, and waits in words |
//! | `picture`, `status` | who waits for whom in a process, as data and as text |
//! | `operation`, `backtrace`, `python`, `source_path` | records of operations with their source locations |
//! | `location` | source locations for messages outside of reports |
//! | `call` | the calling thread: its id, its API function, the global order of operations |
//! | `api` | properties of API functions that the checks depend on |
//! | `system` | memory passed to the system or released, as the interposer reports it |
//! | `interposer` | connection to the `LD_PRELOAD` library: locks, threads, system calls |
//! | `state`, `checker` | the state, and the observer callbacks that update it |
//!
//! It does not modify the engine: it receives callbacks and keeps its own state. The one exception is the memory
//! protection of pinned and registered memory, which [`softacl_engine::observer::Observer::guards`] requests.

mod accessed_pages;
mod api;
mod backtrace;
mod blocks;
mod call;
mod checker;
mod clock;
pub mod finding;
mod finding_id;
mod freed_blocks;
mod guard;
mod hang;
mod hold;
mod host_access;
mod indirect;
pub mod interposer;
mod ledger;
mod life;
mod location;
mod look;
mod mappings;
mod observer;
mod operation;
pub mod picture;
mod process_access;
mod python;
mod races;
mod ranges;
mod refusals;
pub mod report;
mod shared_accesses;
mod shared_log;
mod signals;
mod snapshot;
mod source_path;
mod state;
mod status;
mod system;
mod system_call;
mod threads;
mod touches;
pub mod unjudged;
mod unresolved_copies;
mod wait_graph;
mod wait_log;
mod wait_text;
mod waits;

pub use checker::{Checker, NARRATED_CALL, RunInfo};
pub use location::call_location;
pub use look::Look;
pub use python::{Place, save_frames};
pub use status::picture as take_picture;
