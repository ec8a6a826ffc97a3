//! Drivers: what makes the streams go.
//!
//! The lanes say what may start; a driver decides when and on which thread. `workers` runs tasks on
//! worker threads and on the threads that wait; `stepper` runs them one at a time where a schedule
//! wants them. Both use the same steps: `submit`, run and finish here, `execute`.

pub(crate) mod budget;
mod coalesce;
pub(crate) mod defer;
mod dispatch;
mod execute;
pub(crate) mod external_waits;
mod job;
mod polling;
pub(crate) mod run;
pub(crate) mod spans;
pub(crate) mod stepper;
mod steps;
mod submit;
pub(crate) mod worker_pool;
mod workers;

use std::sync::Arc;
use stepper::Stepper;
use worker_pool::WorkerPool;

pub(crate) enum Executor {
    Threads(WorkerPool),
    Stepped(Arc<Stepper>),
}
