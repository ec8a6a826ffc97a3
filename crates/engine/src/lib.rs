//! The simulated machine behind the API: devices, contexts, streams, events, graphs and copies.
//!
//! A [`Machine`] is created from a [`Config`]. Each thread of the program calls it through a [`Caller`]. The engine
//! contains no C, no Python, no environment variables and no files. Memory, errors, fault rules and concurrency
//! primitives are in crates below it.
//!
//! A module is the room of a noun. Its `mod.rs` is the data, `calls` is what a thread of the program can do with it,
//! and the other files are what the machine does with it. Imports form no cycle; `cargo xtask architecture` checks
//! that.
//!
//! | module | noun |
//! | --- | --- |
//! | `machine`, `caller` | everything that exists once per process; one thread of the program |
//! | `context`, `stream`, `event`, `notify`, `value`, `host` | the objects of the API, and host functions |
//! | `allocation`, `pool`, `virtual_memory`, `ipc` | memory that the program requests |
//! | `copy` | requests of every copy call: validated here and nowhere else |
//! | `kernel` | requests to run code on declared ranges |
//! | `task` | what a stream does: moves and controls |
//! | `graph` | captured work that can run again |
//! | `executor`, `schedule`, `order` | when tasks run: on worker threads, or step by step |
//! | `slow_path` | the reasons that close the fast path |
//! | `injection` | where fault rules apply to tasks, copies and devices |
//! | `blocked`, `waits` | threads and streams that wait, and for what |
//! | `observer`, `exception`, `hooks` | what the machine reports: to an observer, and to the program |

mod allocation;
mod blocked;
mod caller;
mod context;
mod copy;
mod event;
mod exception;
mod executor;
mod graph;
mod hooks;
mod host;
mod injection;
mod ipc;
mod kernel;
mod keys;
mod last_task;
mod machine;
mod managed;
mod marker;
mod notify;
pub mod observer;
pub mod order;
mod pool;
mod schedule;
mod slow_path;
mod stream;
mod task;
mod thread;
mod timeout;
mod value;
mod virtual_memory;
mod waits;

pub use {
    allocation::DeviceUsage,
    blocked::{BlockedThread, RunningFunction},
    caller::Caller,
    context::calls::PeerStatus,
    copy::{
        BatchAttribute, BatchFailure, BatchRequest, CopyRequest, DescriptorRequest, ElementChange, FailIndex,
        FillRequest, Location, OffsetRequest, PlaneRequest, RandomRequest, RearrangeRequest, ReduceRequest,
        TensorSource, TensorView, WordFillRequest, blocked_copies, kinds,
    },
    event::{EventKind, calls::EventStatus},
    exception::{Exception, Exceptions},
    executor::clock::{KernelTime, Timing},
    executor::decisions::Replay,
    graph::{
        CaptureMode, CaptureStatus, Comparison, ConditionCell, ConditionKind, EntryKind, EntryParameters, Graph,
        GraphDescription, Group, StepDescription,
    },
    hooks::{DeviceChange, DeviceHook, Hooks, NamedHooks, StreamChange, StreamHook},
    kernel::KernelRequest,
    keys::{ConditionKey, ContextKey, EventKey, GraphKey, GroupKey, NotifyKey, PartKey, PoolKey, StreamKey},
    machine::{Config, Machine, Observation},
    managed::{Advice, Hints as ManagedHints, ManagedLocation},
    marker::{CACHE_DESCRIPTOR_SIZE, OVERFLOW_STATUS_SIZE},
    notify::{Compare, CounterOp},
    pool::PoolAttribute,
    schedule::Schedule,
    stream::{StreamOptions, StreamSettings, calls::LOWEST_PRIORITY},
    task::external_wait::ValueCondition,
    task::kernel::{KernelCode, OperationTable, Ranges as KernelRanges},
    task::operation::Helpers,
    task::random::{Distribution, Parameter as RandomParameter, RandomElement},
    thread::{start as start_thread, start_uncounted as start_uncounted_thread},
    virtual_memory::{AccessGrant, PhysicalRequest},
    waits::{Awaited, Front, StreamState, StreamWait, WaitSnapshot},
};

pub use {
    softacl_errors::{Code, Error, HandleKind, Layer, MemoryPool, OutOfBounds, Owner, Result, fail},
    softacl_faults as faults,
    softacl_memory::{
        MemoryKind, MemoryLocation, Rights, Usage,
        bytes::convert::Scalar,
        bytes::reduce::{Element, ReduceOp, float_to_half, half_to_float},
        mailbox, segv,
    },
    softacl_sync::{handle, signal_log::SignalLog, timed_lock::lock_with_timeout},
};
