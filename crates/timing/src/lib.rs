//! The timing model: what a program would take on a chip, from published figures.
//!
//! Pure: no threads, no clocks of the host, no environment. The stepped executor of the engine asks [`Simulation`] when
//! tasks start and end, and records a [`Log`], which [`replay`] runs again with other figures.
//!
//! | module | content |
//! | --- | --- |
//! | `costs` | the figures of a chip as nanoseconds, at their value or at one end of their intervals |
//! | `work` | what a task does, as far as time is concerned, and on which engine |
//! | `simulation` | discrete events: engines that are busy, tasks that end |
//! | `log` | what a program did, as a list of steps, and its file |
//! | `replay` | a log on other figures, or with copies joined to batches |
//! | `analysis` | use of engines, overlap, critical path |
//! | `report` | the answers, with intervals |
//! | `published` | published tables as tests of the model |
//!
//! Not here: when a task may start (the engine knows), and how a report looks (`softacl` prints it).

pub mod analysis;
pub mod costs;
pub mod log;
pub mod published;
pub mod replay;
pub mod report;
pub mod simulation;
pub mod work;

pub use costs::{Bound, Costs};
pub use log::{Log, Step};
pub use simulation::{Simulation, TaskId};
pub use work::{Call, Engine, Place, Work};
