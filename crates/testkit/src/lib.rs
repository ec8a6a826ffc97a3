//! Model-based tests of the engine: random programs and a sequential reference model.
//!
//! A program is a list of abstract operations. `world` runs it on a machine and on plain vectors in parallel. Before
//! an operation touches bytes that another stream still uses, the world orders the two, with an event or a wait. Every
//! program is therefore free of races, its result equals that of sequential execution, and every schedule must
//! produce it.
//!
//! | module | content |
//! | --- | --- |
//! | `program` | random programs |
//! | `memory`, `order` | the model: effects of calls on bytes, and vector clocks |
//! | `faults` | random fault rules, and the oracle that predicts their effects |
//! | `world` | executes a program on machine and model, and compares |
//! | `scenario`, `shrink` | whole machines with several threads, and the reduction of failing ones |

pub mod faults;
pub mod memory;
pub mod order;
pub mod program;
pub mod scenario;
pub mod shrink;
pub mod world;

pub use program::{ApiCall, Program};
pub use world::{Setup, run, run_on};
