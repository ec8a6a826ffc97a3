//! Every way a call can fail: one variant per cause, with the facts; one match to the code.
//!
//! The text is a sentence for the caller, with the numbers. It does not say which function failed:
//! the door knows that and says it.

use std::fmt;

/// Codes of the interface that the engine returns. The door hands them to C unchanged.
pub type Code = i32;

/// Which of the two layers of the interface refused. Clients can tell: only failures of the
/// runtime layer enter the last-error cell of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Arguments,
    Runtime,
    /// A refusal of the runtime layer that leaves the last-error cell alone.
    RuntimeWithoutLastError,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    // Arguments, refused before anything is looked at.
    #[error("{0} is NULL")]
    Null(&'static str),
    #[error("{0}")]
    Argument(String),
    #[error("peer access flags must be 0, not {0}")]
    PeerFlags(u32),

    // The runtime's own checks.
    #[error("{0}")]
    Parameter(String),
    #[error("the copy has {count} bytes but the destination was declared to hold {capacity} (destMax)")]
    Capacity { count: usize, capacity: usize },
    #[error("{0}")]
    Range(OutOfBounds),
    #[error(
        "{side} address {address:#x} is in the memory of device {device} but belongs to no live allocation; was it freed?"
    )]
    NotAllocated { side: &'static str, address: usize, device: u32 },
    #[error("{side} address {address:#x} is in pinned host memory but belongs to no live allocation; was it freed?")]
    PinnedNotAllocated { side: &'static str, address: usize },
    #[error("{side} address {address:#x} is in a reserved range {why}")]
    NotMapped { side: &'static str, address: usize, why: &'static str },
    #[error("{address:#x} {whose} is not the start of a live allocation")]
    NotAStart { address: usize, whose: String },
    #[error("device {given} does not exist: there {}", devices(*.count))]
    Device { given: i64, count: u32 },
    #[error(
        "this thread has no current context: call aclrtSetDevice (or aclrtSetCurrentContext) in every thread that uses the device"
    )]
    NoContext,
    #[error(
        "the {what} belongs to another context, {theirs}, than the current one of this thread, which is {}",
        .ours.map_or("gone".to_owned(), |ours| ours.to_string())
    )]
    OtherContext { what: &'static str, stream: Option<u32>, theirs: Owner, ours: Option<Owner> },
    #[error("address {address:#x} of the {side} is not aligned to {alignment} bytes")]
    Unaligned { side: &'static str, address: usize, alignment: usize },
    #[error(
        "{handle:#x} is not a live {what}: it was never created, is already destroyed, or is a handle of another kind"
    )]
    Handle { what: HandleKind, handle: usize },
    #[error("memory attribute {0} is not known")]
    MemoryAttribute(i32),
    #[error("the tasks of device {0} are being aborted")]
    Aborting(u32),
    #[error("event {0} has no usable timestamp: {1}")]
    NoTimestamp(&'static str, &'static str),
    #[error("event {0} was never recorded")]
    NotRecorded(&'static str),
    #[error("the stream already has a subscribed callback thread, or uses host functions")]
    AlreadySubscribed,
    #[error("thread {0:#x} is not subscribed to a stream")]
    ThreadNotSubscribed(u64),
    #[error("no thread is subscribed to the stream: call aclrtSubscribeReport first")]
    NoCallbackThread,

    // Captures and graphs.
    #[error("the graph belongs to another context than the current one of this thread")]
    OtherContextGraph,
    #[error("a captured stream cannot wait for work outside its capture: record the event in the capture first")]
    CaptureDependency,
    #[error(
        "a stream that joined the capture was not joined back: record an event on it and let the stream where the capture began wait for it"
    )]
    Unjoined,
    #[error("the graph is still being captured")]
    GraphCapturing,
    #[error("the stream captures, so it cannot be {0}: end the capture first")]
    Capturing(&'static str),
    #[error("the newest record of the event was captured: it belongs to a graph and never happens by itself")]
    EventCaptured,
    #[error("the stream does not capture")]
    NotCapturing,
    #[error(
        "the call blocks, which the mode of a capture in progress forbids: aclmdlRICaptureThreadExchangeMode with RELAXED allows it in this thread"
    )]
    CaptureForbids,
    #[error("the default stream of a context cannot be captured")]
    CaptureDefault,
    #[error("the stream and the event belong to two captures, which cannot depend on each other")]
    CaptureConflict,
    #[error("{0}")]
    GroupState(String),
    #[error("the capture did not begin on this stream, the stream joined it: end it where it began")]
    NotOrigin,
    #[error("graph {0} is still running: wait for the stream that it was launched on")]
    GraphRunning(u32),
    #[error("the capture was begun by another thread, which must end it")]
    CaptureThread,
    #[error("the file {0}")]
    FileWrite(String),
    #[error("the update does not fit: {0}")]
    UpdateFailed(String),
    #[error("the copy of pageable host memory would block, which the mode of a capture in progress forbids")]
    CaptureBlocks,
    #[error("the capture is invalid: a dependency was refused that the graph would lack, or the device was aborted")]
    CaptureInvalid,

    #[error("a sub-graph is still being captured")]
    SubGraphCapturing,

    // Not supported.
    #[error("{what} is not supported on {soc}")]
    Unsupported { what: &'static str, soc: String },
    #[error("an asynchronous copy from host to host is not supported: use aclrtMemcpy or memcpy")]
    HostToHost,
    #[error("{0}")]
    Feature(String),

    // Resources.
    #[error("out of memory on {pool}: {asked} bytes asked, {free} of {total} free")]
    OutOfMemory { pool: MemoryPool, asked: usize, free: usize, total: usize },
    #[error("no stream left on device {device}: {limit} exist, the limit of {soc}")]
    NoStream { device: u32, limit: u32, soc: String },
    #[error("no notify left: there are {0}")]
    NoNotify(usize),
    #[error("no event left on device {device}: {limit} exist, the limit of {soc}")]
    NoEvent { device: u32, limit: u32, soc: String },

    // State and execution.
    #[error("device {0} is not set, or was reset as often as it was set")]
    NotRetained(u32),
    #[error("the context is being destroyed")]
    ContextGone,
    #[error("the stream was not finished after {0} ms")]
    StreamTimeout(i32),
    #[error("the event was not finished after {0} ms")]
    EventTimeout(i32),
    #[error("a {0} was not over after {1} s")]
    WaitTimeout(&'static str, u64),
    #[error("no callback arrived within {0} ms")]
    ReportTimeout(i32),
    #[error("host range {start:#x} with {size} bytes overlaps a range that is already registered")]
    AlreadyRegistered { start: usize, size: usize },
    #[error("host address {0:#x} is not the start of a registered range")]
    NotRegistered(usize),
    #[error(
        "device {from} may not access device {to}: call aclrtDeviceEnablePeerAccess on both devices first ({missing})"
    )]
    NoPeerAccess { from: u32, to: u32, missing: String },
    #[error(
        "the memory was imported from a process on another device: only asynchronous copies from device to device, with that kind, can use it"
    )]
    Distant,
    #[error(
        "process {process} may not import the memory of process {exporter}, which has to admit it with its aclrtDeviceGetBareTgid"
    )]
    NotAdmitted { process: u32, exporter: u32 },
    #[error("{side} memory is not accessible: touching {len} bytes at {address:#x} faulted")]
    Inaccessible { side: &'static str, address: usize, len: usize },
    #[error("the device could not execute the copy: {0}")]
    DeviceCopy(String),
    #[error("{what}")]
    Injected { code: Code, what: String },
    #[error("the runtime could not be set up: {0}")]
    Setup(String),
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// The code that C sees.
    pub fn code(&self) -> Code {
        use Error::*;
        match self {
            Null(_) | Argument(_) => 100000,
            PeerFlags(_) => 200006,
            Parameter(_)
            | Capacity { .. }
            | Range(_)
            | NotAllocated { .. }
            | PinnedNotAllocated { .. }
            | NotMapped { .. }
            | NotAStart { .. } => 107000,
            Device { .. } => 107001,
            NoContext => 107002,
            OtherContext { .. } => 107003,
            OtherContextGraph => 107004,
            NoTimestamp(..) => 107006,
            Unaligned { .. } => 107008,
            FileWrite(_) => 107010,
            AlreadySubscribed => 107011,
            ThreadNotSubscribed(_) => 107012,
            NoCallbackThread => 107015,
            MemoryAttribute(_) => 107016,
            Handle { .. } => 107017,
            WaitTimeout(..) => 107019,
            Aborting(_) => 107022,
            CaptureDependency => 107024,
            Unjoined => 107025,
            GraphCapturing => 107026,
            Capturing(_) => 107027,
            EventCaptured => 107028,
            NotCapturing => 107029,
            CaptureForbids => 107030,
            CaptureDefault => 107031,
            CaptureConflict => 107032,
            GroupState(_) => 107033,
            NotOrigin => 107036,
            GraphRunning(_) => 107037,
            CaptureThread => 107038,
            UpdateFailed(_) => 107040,
            CaptureBlocks => 107041,
            SubGraphCapturing => 107045,
            Unsupported { .. } | HostToHost | Feature(_) => 207000,
            OutOfMemory { .. } => 207001,
            NoEvent { .. } => 207007,
            NoStream { .. } => 207008,
            NoNotify(_) => 207009,
            NotRecorded(_) => 507000,
            NotRetained(_) | ContextGone => 507007,
            ReportTimeout(_) => 507012,
            DeviceCopy(_) => 507013,
            Setup(_) => 507033,
            StreamTimeout(_) => 507046,
            EventTimeout(_) => 507047,
            NoPeerAccess { .. } | Distant | NotAdmitted { .. } | Inaccessible { .. } => 507899,
            CaptureInvalid => 507903,
            AlreadyRegistered { .. } => 507910,
            NotRegistered(_) => 507911,
            Injected { code, .. } => *code,
            Internal(_) => 500000,
        }
    }

    /// A call that has no place in an update of a task group.
    pub(crate) fn updating(what: &str) -> Error {
        Error::GroupState(format!("an {what} cannot be part of the update of a task group"))
    }

    /// Says which task failed, where the variant has room for a sentence.
    pub(crate) fn of_task(self, name: &str, sequence: u64) -> Error {
        match self {
            Error::DeviceCopy(text) => Error::DeviceCopy(format!("{text} ({name}, task {sequence} of its stream)")),
            Error::Injected { code, what } => {
                Error::Injected { code, what: format!("{what} ({name}, task {sequence} of its stream)") }
            }
            other => other,
        }
    }

    pub fn layer(&self) -> Layer {
        match self {
            Error::Null(_) | Error::Argument(_) | Error::PeerFlags(_) | Error::Internal(_) => Layer::Arguments,
            // Codes of the argument layer come before those of the runtime (specification 4.6).
            Error::Injected { code: ..107_000, .. } => Layer::Arguments,
            Error::HostToHost => Layer::RuntimeWithoutLastError,
            _ => Layer::Runtime,
        }
    }
}

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
    MemoryPool,
    PhysicalMemory,
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
            HandleKind::MemoryPool => "memory pool",
            HandleKind::PhysicalMemory => "physical memory",
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
    /// A buffer of the runtime in ordinary host memory.
    HostBuffer(&'static str),
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
            MemoryPool::HostBuffer(what) => write!(f, "the host ({what})"),
            MemoryPool::ReservedAddresses => f.write_str("the reserved addresses"),
        }
    }
}

/// A context, by its number and its device: there may be many of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub context: u32,
    pub device: u32,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {} of device {}", self.context, self.device)
    }
}

/// A range that leaves its allocation, told so that the mistake can be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBounds {
    pub side: &'static str,
    pub place: String,
    pub address: usize,
    pub len: usize,
    pub start: usize,
    pub size: usize,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.address - self.start;
        write!(
            f,
            "the {} range leaves its allocation: {} bytes at offset {offset} of the {} bytes at {:#x} ({}), {} too many",
            self.side,
            self.len,
            self.size,
            self.start,
            self.place,
            self.len - (self.size - offset),
        )
    }
}

fn devices(count: u32) -> String {
    match count {
        0 => "is none".to_owned(),
        1 => "is 1 device (0)".to_owned(),
        n => format!("are {n} devices (0 to {})", n - 1),
    }
}

/// Errors travel boxed: a result then fits the registers, and the path of every copy stays short.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// Fails with an error.
#[cold]
pub fn fail<T>(error: Error) -> Result<T> {
    Err(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_does_not_exist_is_told_with_those_that_do() {
        let told = |count| Error::Device { given: 7, count }.to_string();
        assert_eq!(told(0), "device 7 does not exist: there is none");
        assert_eq!(told(1), "device 7 does not exist: there is 1 device (0)");
        assert_eq!(told(2), "device 7 does not exist: there are 2 devices (0 to 1)");
    }
}
