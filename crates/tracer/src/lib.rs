//! The timeline of a program: what its threads called, what its streams did, and when.
//!
//! An observer of the engine that only writes down facts, each with its time, in the log of the thread that
//! tells it (`log`, in lists that survive an interruption: `records`). When the program ends they are woven into calls
//! and tasks (`story`), counted (`summary`) and written for a viewer (`chrome`); traces of several processes become
//! one (`join`). It judges nothing: what is wrong with a program is the checker's to say.

mod book;
mod chrome;
mod join;
mod log;
mod records;
mod story;
mod summary;
mod tracer;

pub use book::{Route, Site};
pub use join::Joiner;
pub use summary::{COLUMNS, CallLine, Pauses, RouteLine, Row, StreamLine, Summary};
pub use tracer::{LIMIT, Tracer};
