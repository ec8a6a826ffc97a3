//! Tracer: an engine observer that records the timeline of a program (the calls of its threads and the tasks of its
//! streams) and writes it for a viewer.
//!
//! | module | content |
//! | --- | --- |
//! | `tracer` | the observer: converts callbacks to trace events |
//! | `trace_event` | trace events and their times |
//! | `log`, `append_log` | one log of timed trace events per thread, readable after an interruption |
//! | `allocations` | device allocations by address, for the routes of copies |
//! | `marks` | points, ranges and texts that the program put on its timeline |
//! | `timeline` | calls and tasks, rebuilt from the logs when the program ends |
//! | `summary` | totals, and busy time per stream, route and function |
//! | `chrome` | writes the Trace Event Format |
//! | `merge` | merges the traces of several processes |
//!
//! The tracer reports no errors: finding them is the job of `softacl-checker`.

mod allocations;
mod append_log;
mod chrome;
mod log;
mod marks;
mod merge;
mod summary;
mod timeline;
mod trace_event;
mod tracer;

pub use allocations::{Endpoint, Route};
pub use merge::TraceMerger;
pub use summary::{BlockedCalls, COLUMNS, CallLine, RouteLine, Row, StreamLine, Summary};
pub use tracer::{DEFAULT_EVENT_LIMIT, Tracer};
