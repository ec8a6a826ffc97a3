//! Kinds of tasks: what a task is, for graph updates, observers and messages.

use softacl_memory::touch::Touch;

/// Kind of a task. Tasks of one kind can replace each other in an update of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskKind {
    Copy,
    BatchCopy,
    /// 2D copy.
    PlaneCopy,
    /// A copy that was accepted although the device cannot execute it.
    HostToHostCopy,
    MemorySet,
    Reduction,
    TensorCopy,
    DescriptorCopy,
    IndirectCopy,
    RandomNumbers,
    Kernel,
    EventRecord,
    EventWait,
    EventReset,
    ValueWrite,
    ValueWait,
    NotifyRecord,
    NotifyWait,
    HostFunction,
    PoolRelease,
    CacheOperation,
    /// A mark of the program.
    Mark,
    /// Clears the overflow flags of the cores.
    OverflowReset,
    /// Moves managed memory to a location.
    Prefetch,
    AnnotatedKernel,
    /// A block of an allocator of the program is allocated, declared by the program.
    BlockAllocation,
    /// A block of an allocator of the program is freed, declared by the program.
    BlockRelease,
    GraphRun,
    GraphUpdate,
    Condition,
    LabelSwitch,
    StreamSwitch,
    /// A delay of a fault rule.
    Delay,
    /// A task that a fault rule prevents from finishing.
    Stuck,
}

impl TaskKind {
    /// For a copy whose addresses are in device memory: the ranges that these name, as far as they are valid, and the
    /// ranges of the addresses themselves.
    pub fn indirect_touches(self, touches: &[Touch]) -> Option<(&[Touch], &[Touch])> {
        let own = match self {
            TaskKind::DescriptorCopy => 1,
            TaskKind::IndirectCopy => 2,
            _ => return None,
        };
        touches.split_at_checked(touches.len().checked_sub(own)?)
    }

    /// Name for messages and timelines.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Copy => "copy",
            TaskKind::BatchCopy => "batch copy",
            TaskKind::PlaneCopy => "2D copy",
            TaskKind::HostToHostCopy => "host to host copy",
            TaskKind::MemorySet => "memory set",
            TaskKind::Reduction => "reduction",
            TaskKind::TensorCopy => "tensor copy",
            TaskKind::DescriptorCopy => "copy by descriptor",
            TaskKind::IndirectCopy => "copy by address cells",
            TaskKind::RandomNumbers => "random numbers",
            TaskKind::Kernel => "kernel",
            TaskKind::EventRecord => "event record",
            TaskKind::EventWait => "event wait",
            TaskKind::EventReset => "event reset",
            TaskKind::ValueWrite => "value write",
            TaskKind::ValueWait => "value wait",
            TaskKind::NotifyRecord => "notify record",
            TaskKind::NotifyWait => "notify wait",
            TaskKind::HostFunction => "host function",
            TaskKind::PoolRelease => "release to a pool",
            TaskKind::CacheOperation => "cache operation",
            TaskKind::Mark => "mark",
            TaskKind::OverflowReset => "overflow reset",
            TaskKind::Prefetch => "prefetch",
            TaskKind::AnnotatedKernel => "annotated kernel",
            TaskKind::BlockAllocation => "annotated allocation",
            TaskKind::BlockRelease => "annotated release",
            TaskKind::GraphRun => "run of a graph",
            TaskKind::GraphUpdate => "update of a graph",
            TaskKind::Condition => "conditional task",
            TaskKind::LabelSwitch => "label switch",
            TaskKind::StreamSwitch => "stream switch",
            TaskKind::Delay => "slow task",
            TaskKind::Stuck => "stuck task",
        }
    }
}
