//! `libhccl.so`: collective communication between ranks.
//!
//! A client of `libascendcl.so`, through its C API. It has no engine and no threads: every collective is a task of the
//! stream that it is given (`softaclLaunchOperation`), so it is ordered, captured, traced, checked and delayed like a copy.
//! Bytes travel through the channels of `softacl-carrier`.
//!
//! | module | what it is |
//! | --- | --- |
//! | `communicators`, `collectives`, `points`, `queries`, `registration` | the exported functions, by topic |
//! | `group_calls` | `HcclGroupStart` and `HcclGroupEnd` |
//! | `plan` | what a rank sends and receives in a collective: pure |
//! | `run` | one execution of a plan, in steps that never wait |
//! | `message` | the header with which every rank says what it does |
//! | `launch` | a plan becomes a task of a stream |
//! | `communicator` | communicators, by key |
//! | `reduction` | arithmetic on elements |
//! | `point`, `buffer` | sends and receives; buffers of the program |
//! | `config`, `rank_table`, `types`, `failure`, `status`, `program`, `runtime` | what comes from outside, and what goes back |

#![allow(non_snake_case)]
// The headers state what C programs promise; what can be checked is checked, see `program`.
#![allow(clippy::missing_safety_doc)]

mod buffer;
pub mod collectives;
mod communicator;
pub mod communicators;
mod config;
mod failure;
pub mod group_calls;
mod launch;
mod message;
mod plan;
mod point;
pub mod points;
mod program;
pub mod queries;
mod rank_table;
mod reduction;
pub mod registration;
mod run;
pub mod runtime;
mod status;
pub mod types;
