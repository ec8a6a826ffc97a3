//! The timeline of a program: what its threads called, what its streams did, and when.
//!
//! An observer of the engine that only writes down facts, each with its time, in the log of the thread that
//! tells it (`log`, in lists that survive an interruption: `records`). When the program ends they are woven into calls
//! and tasks (`story`), counted (`summary`) and written for a viewer (`chrome`); traces of several processes become
//! one (`join`). It judges nothing: what is wrong with a program is the checker's to say.

mod allocations;
mod append_log;
mod chrome;
mod log;
mod merge;
mod summary;
mod timeline;
mod tracer;

pub use allocations::{Endpoint, Route};
pub use merge::TraceMerger;
pub use summary::{BlockedCalls, COLUMNS, CallLine, RouteLine, Row, StreamLine, Summary};
pub use tracer::{DEFAULT_EVENT_LIMIT, Tracer};
