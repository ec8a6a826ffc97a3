//! Tracer: an engine observer that records the timeline of a program (the calls of its threads and the tasks of its
//! streams) and writes it for a viewer.
//!
//! | module | content |
//! | --- | --- |
//! | `tracer` | the observer: converts callbacks to trace events |
//! | `trace_event` | trace events and their times |
//! | `log`, `log_head` | the log of a process: writing takes no lock, and a file keeps it if the process is killed |
//! | `block`, `record` | the memory of a log, and trace events in it |
//! | `names` | numbers of the names in records |
//! | `snapshot` | the contents of a log, from memory or from a file |
//! | `allocations` | device allocations by address, for the routes of copies |
//! | `marks` | points, ranges and texts that the program put on its timeline |
//! | `timeline` | calls and tasks, rebuilt from a log |
//! | `summary` | totals, and busy time per stream, route and function |
//! | `chrome`, `entries` | writes and reads entries in the Trace Event Format |
//! | `trace` | a whole trace, of one process or of several |
//! | `tracks` | a trace as rows of slices, for every other form of output |
//! | `perfetto`, `columns` | tracks as a Perfetto file, and as data of the timeline page |
//!
//! The tracer reports no errors: finding them is the job of `softacl-checker`.

mod allocations;
mod block;
mod chrome;
mod columns;
mod entries;
mod log;
mod log_head;
mod marks;
mod names;
pub mod perfetto;
mod record;
mod snapshot;
mod summary;
mod timeline;
mod trace;
mod trace_event;
mod tracer;
mod tracks;

pub use allocations::{Endpoint, Route};
pub use columns::{Layout, columns};
pub use entries::read;
pub use summary::{BlockedCalls, COLUMNS, CallLine, RouteLine, Row, StreamLine, Summary};
pub use trace::{LogEnd, TraceWriter};
pub use tracer::{DEFAULT_EVENT_LIMIT, RECORD_BYTES, Tracer};
pub use tracks::{Arrow, ArrowEnd, MarkPoint, MemoryUse, Slice, SliceKind, TextNumber, Track, TrackKind, Tracks};
