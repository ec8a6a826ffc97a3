//! Concurrency primitives of the engine: everything that loom explores, and nothing else.
//!
//! `facade` is the only place that chooses between `std`, loom and shuttle. Every other module is a protocol between
//! threads, generic over the data that it carries: nothing here depends on streams, memory or tasks.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`facade`] | locks, atomics and threads from `std`, loom (`--cfg loom`) or shuttle (`--cfg shuttle`) |
//! | [`wait_queue`] | eventcount: threads park until a condition holds |
//! | [`completion`] | progress of a stream; the only place that publishes finished tasks |
//! | [`lane`] | a stream's queue as a pure state machine |
//! | [`shared_lane`] | a lane behind its mutex, with the protocol between streams |
//! | [`waiter_list`] | streams whose waiting threads can be woken to help with a job |
//! | [`failure`] | the first failure, returned exactly once |
//! | [`graph_event`] | an event that is set or reset when it is tested |
//! | [`handle`] | generational keys into tables |
//! | [`inbox`] | a queue with one reader, which can be closed |
//! | [`work_units`] | a counter from which threads take units of one job |
//! | [`signal_log`] | a log that signal handlers write without a lock |
//! | [`allocation_record`] | bounds of an allocation, read without a lock |
//! | [`timed_lock`] | a bounded attempt to lock, for process exit |

// Under loom, only `interleavings` uses the primitives.
#![cfg_attr(loom, allow(dead_code))]

pub mod allocation_record;
pub mod completion;
pub mod facade;
pub mod failure;
pub mod graph_event;
pub mod handle;
pub mod inbox;
pub mod lane;
pub mod shared_lane;
pub mod signal_log;
pub mod timed_lock;
pub mod wait_queue;
pub mod waiter_list;
pub mod work_units;

#[cfg(all(test, loom))]
mod interleavings;
