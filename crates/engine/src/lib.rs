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

// loom explores the primitives alone; what only the rest uses looks unused to it.
#![cfg_attr(loom, allow(dead_code))]

#[cfg(loom)]
#[path = "memory/allocation_record.rs"]
mod allocation_record;
#[cfg(not(loom))]
mod bytes;
#[cfg(not(loom))]
mod calls;
#[cfg(not(loom))]
mod context;
#[cfg(not(loom))]
mod copy;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod event;
#[cfg(not(loom))]
mod exception;
#[cfg(not(loom))]
mod executor;
#[cfg(not(loom))]
mod graph;
#[cfg(loom)]
#[path = "graph/graph_event.rs"]
mod graph_event;
pub mod handle;
#[cfg(not(loom))]
mod host;
mod inbox;
#[cfg(not(loom))]
pub mod injection;
#[cfg(not(loom))]
mod machine;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod notify;
#[cfg(not(loom))]
pub mod observer;
#[cfg(not(loom))]
pub mod segv;
mod stream;
mod sync;
#[cfg(not(loom))]
pub mod system;
#[cfg(not(loom))]
mod task;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
mod timed_lock;
mod work_units;

#[cfg(all(test, loom))]
mod interleavings;

#[cfg(not(loom))]
pub use {
    bytes::convert::Scalar,
    bytes::reduce::{Element, ReduceOp, float_to_half, half_to_float},
    calls::{AccessGrant, Caller, DeviceUsage, EventStatus, PeerStatus, PhysicalRequest},
    context::ContextKey,
    copy::{
        BatchAttribute, BatchFailure, BatchRequest, CopyRequest, DescriptorRequest, ElementChange, FailIndex,
        FillRequest, Location, OffsetRequest, PlaneRequest, RearrangeRequest, ReduceRequest, TensorSource, TensorView,
        WordFillRequest, kinds,
    },
    error::{Code, Error, HandleKind, Layer, MemoryPool, OutOfBounds, Owner, Result, fail},
    event::{EventKey, EventKind},
    exception::Exception,
    executor::{Schedule, ValueCondition},
    graph::{
        CaptureMode, CaptureStatus, ConditionCell, ConditionKey, ConditionKind, Graph, GraphDescription, GraphKey,
        Group, GroupKey, StepDescription,
    },
    machine::{Config, Machine},
    memory::{
        MemoryKind, MemoryLocation, Rights, Usage,
        pool::{PoolAttribute, PoolKey},
    },
    notify::{Compare, CounterOp, NotifyKey},
    stream::{StreamKey, StreamOptions, StreamSettings},
    thread::start as start_thread,
    timed_lock::lock_with_timeout,
};
