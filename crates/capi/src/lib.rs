//! `libascendcl.so`: the C API of AscendCL on top of the softacl engine.
//!
//! The only crate that composes everything and holds process state. Each file is one family of C functions, declared
//! with `export!`: the entry converts the arguments and turns errors into codes, the body calls the engine. Checked
//! here are only NULL pointers, enumerators, flags and struct fields, which the engine does not receive.

#![allow(non_snake_case)]
// The headers state what C programs promise; what can be checked is checked, see `argument`.
#![allow(clippy::missing_safety_doc)]

mod argument;
mod check;
mod config;
mod crash_report;
mod entry;
mod exception_callbacks;
mod faults;
mod log_file;
mod machine_cell;
mod message;
mod object;
mod process;
mod sync_gate;
mod timing;
mod trace;
pub mod unsupported;

pub mod allocator;
pub mod attribute;
pub mod buffer;
pub mod cache;
pub mod callback;
pub mod channel;
pub mod compilation;
pub mod context;
pub mod copy;
pub mod device;
pub mod device_limit;
pub mod dump;
pub mod error;
pub mod event;
pub mod exception;
pub mod extension;
pub mod graph;
pub mod graph_build;
pub mod graph_tasks;
pub mod group;
pub mod init;
pub mod init_callback;
pub mod ipc;
pub mod kernel;
pub mod label;
pub mod log;
pub mod managed;
pub mod mark;
pub mod memory;
pub mod notify;
pub mod op_timeout;
pub mod operator;
pub mod overflow;
pub mod parameters;
pub mod peer;
pub mod pod;
pub mod pool;
pub mod profile;
pub mod queue;
pub mod random;
pub mod rt;
pub mod shared_buffer;
pub mod snapshot;
pub mod state_callback;
pub mod stream;
pub mod symbol;
pub mod task_info;
pub mod tensor;
pub mod tensor_list;
pub mod topology;
pub mod value;
pub mod version;
pub mod virtual_memory;
mod watch;

pub use config::{Strict, VARIABLES, Variable, device_count, from_environment, memory_size, strict};
pub use faults::rules as fault_rules;
pub use timing::{figures, kernel_times};
