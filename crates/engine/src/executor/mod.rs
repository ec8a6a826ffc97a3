//! Executors: when tasks run, and on which thread.
//!
//! The lanes define what may start; an executor decides when, and where. `workers` runs tasks on worker threads and on
//! waiting threads. `steps` runs them one at a time, where a schedule requires it, `replay` in the
//! order of a file, and `timed` in the order of a virtual clock. Both share the stages of a task:
//! `submit`, `run` (claim and finish), `coalesce` and `execute`. `polling` serves external waits. The rest of the
//! engine uses `dispatch`.
//!
//! Data (`worker_pool`, `stepper`, `clock`, `external_waits`) is separate from behavior, because the machine owns the data.

pub(crate) mod budget;
pub(crate) mod clock;
mod coalesce;
pub(crate) mod decisions;
pub(crate) mod defer;
mod dispatch;
mod execute;
pub(crate) mod external_waits;
mod job;
mod polling;
mod replay;
pub(crate) mod run;
pub(crate) mod spans;
pub(crate) mod stepper;
mod steps;
mod submit;
mod timed;
pub(crate) mod worker_pool;
mod workers;

use std::sync::Arc;
use stepper::Stepper;
use worker_pool::WorkerPool;

/// The executor of a machine.
pub(crate) enum Executor {
    Threads(WorkerPool),
    Stepped(Arc<Stepper>),
}
