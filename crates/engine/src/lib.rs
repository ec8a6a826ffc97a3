//! The machine behind the interface: devices, contexts, streams, events, memory and copies.
//!
//! It knows no C, no Python, no environment variables and no files. A `Machine` is made from a
//! `Config`; each thread of the program speaks to it as a `Caller`.
//!
//! | room | what is there |
//! | --- | --- |
//! | `machine`, `context`, `stream`, `event`, `notify`, `host` | the nouns |
//! | `graph` | captured work that runs again |
//! | `memory` | addresses, allocations, pools, registration |
//! | `copy` | requests of every copy call: checked here and nowhere else |
//! | `task` | what a stream does |
//! | `drive` | when tasks run: worker threads, or a schedule step by step |
//! | `bytes` | the only module that touches memory of the program or of a device |
//! | `calls` | what a thread can ask for |
//! | `fault` | accesses that no memory answers |
//! | `injection`, `system` | faults on purpose; what the operating system is asked for |
//! | `probe`, `patience` | facts for an observer; its locks at the end of a process |

mod calls;
mod context;
mod copy;
mod event;
mod exception;
mod executor;
mod graph;
mod host;
mod injection;
mod keys;
mod machine;
mod notify;
pub mod observer;
mod pool;
mod stream;
mod task;
mod thread;

pub use {
    calls::{AccessGrant, Caller, DeviceUsage, EventStatus, PeerStatus, PhysicalRequest},
    copy::{
        BatchAttribute, BatchFailure, BatchRequest, CopyRequest, DescriptorRequest, ElementChange, FailIndex,
        FillRequest, Location, OffsetRequest, PlaneRequest, RearrangeRequest, ReduceRequest, TensorSource, TensorView,
        WordFillRequest, kinds,
    },
    event::EventKind,
    exception::Exception,
    executor::{Schedule, ValueCondition},
    graph::{
        CaptureMode, CaptureStatus, ConditionCell, ConditionKind, Graph, GraphDescription, Group, StepDescription,
    },
    keys::{ConditionKey, ContextKey, EventKey, GraphKey, GroupKey, NotifyKey, PoolKey, StreamKey},
    machine::{Config, Machine},
    notify::{Compare, CounterOp},
    pool::PoolAttribute,
    stream::{StreamOptions, StreamSettings},
    thread::start as start_thread,
};

pub use {
    softacl_errors::{Code, Error, Layer, OutOfBounds, Owner, Result, fail},
    softacl_faults as faults,
    softacl_memory::{
        MemoryKind, MemoryLocation, Rights, Usage,
        bytes::convert::Scalar,
        bytes::reduce::{Element, ReduceOp, float_to_half, half_to_float},
        segv,
    },
    softacl_sync::{handle, timed_lock::lock_with_timeout},
};
