//! What errors name: kinds of handles, and memory that can run out.

use std::fmt;

/// What a handle refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    Stream,
    Event,
    Notify,
    CountingNotify,
    Graph,
    TaskGroup,
    Condition,
    Label,
    LabelList,
    GraphStream,
    GraphTask,
    MemoryPool,
    PhysicalMemory,
    SharedBuffer,
    Channel,
}

impl fmt::Display for HandleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HandleKind::Stream => "stream",
            HandleKind::Event => "event",
            HandleKind::Notify => "notify",
            HandleKind::CountingNotify => "counting notify",
            HandleKind::Graph => "graph",
            HandleKind::TaskGroup => "task group",
            HandleKind::Condition => "condition",
            HandleKind::Label => "label",
            HandleKind::LabelList => "list of labels",
            HandleKind::GraphStream => "stream of a graph",
            HandleKind::GraphTask => "task of a graph",
            HandleKind::MemoryPool => "memory pool",
            HandleKind::PhysicalMemory => "physical memory",
            HandleKind::SharedBuffer => "shared buffer",
            HandleKind::Channel => "channel",
        })
    }
}

/// Memory that can run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPool {
    /// Memory of a device.
    Device(u32),
    /// A memory pool of a device, which has a limit below the memory of the device.
    DevicePool(u32),
    /// Physical host memory for virtual addresses.
    Host,
    /// Pinned host memory.
    PinnedHost,
    /// Address space for reservations.
    ReservedAddresses,
}

impl fmt::Display for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryPool::Device(device) => write!(f, "device {device}"),
            MemoryPool::DevicePool(device) => write!(f, "device {device} (pool)"),
            MemoryPool::Host => f.write_str("the host"),
            MemoryPool::PinnedHost => f.write_str("the host (pinned)"),
            MemoryPool::ReservedAddresses => f.write_str("the reserved addresses"),
        }
    }
}
