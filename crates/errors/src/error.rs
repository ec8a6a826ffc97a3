//! The causes of a failure and the sentences that explain them.
//!
//! A sentence is lower case, one line, without a final period: what failed, with the numbers; why; the remedy.

use crate::kinds::{HandleKind, MemoryPool};
use std::fmt;

/// An `aclError`, as the C API returns it.
pub type Code = i32;

/// Why a call failed. `to_string` gives the sentence for the program.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    // Argument layer: rejected before the call has any effect.
    #[error("{0} is NULL")]
    Null(&'static str),
    #[error("{0}")]
    Argument(String),
    #[error("peer access flags must be 0, not {0}")]
    PeerFlags(u32),
    #[error("queue {0} does not exist: it was never created, or is already destroyed")]
    QueueId(u32),

    // Runtime layer: handles, addresses and ranges.
    #[error("{0}")]
    Parameter(String),
    #[error(
        "{count} bytes do not fit the {capacity} bytes that the destination was declared to hold (destMax or maxCount)"
    )]
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
    #[error("{address:#x} is {kind}, not device memory")]
    NotDeviceMemory { address: usize, kind: String },
    #[error("{address:#x} {whose} is not the start of a live allocation")]
    NotAStart { address: usize, whose: String },
    #[error("{address:#x} is {kind}: {remedy}")]
    WrongFree { address: usize, kind: String, remedy: &'static str },
    /// The failure of one entry of a batch.
    #[error("entry {index}: {error}")]
    Entry { index: usize, error: Box<Error> },
    #[error("device {given} does not exist: there {}", devices(*.count))]
    Device { given: i64, count: u32 },
    #[error(
        "this thread has no current context: call aclrtSetDevice (or aclrtSetCurrentContext) in every thread that uses the device"
    )]
    NoContext,
    #[error(
        "the {what} belongs to another context, {theirs}; the current context of this thread {}",
        .ours.map_or("was destroyed".to_owned(), |ours| format!("is {ours}"))
    )]
    OtherContext { what: &'static str, stream: Option<u32>, theirs: Owner, ours: Option<Owner> },
    #[error(
        "the event was created on device {event} and the stream is on device {stream}: an event orders the streams of one device; between devices, use one that was created with ACL_EVENT_IPC"
    )]
    OtherDevice { event: u32, stream: u32 },
    #[error("address {address:#x} of the {side} is not aligned to {alignment} bytes")]
    Unaligned { side: &'static str, address: usize, alignment: usize },
    #[error(
        "{handle:#x} is not a live {what}: it was never created, is already destroyed, or is a handle of another kind"
    )]
    Handle { what: HandleKind, handle: usize },
    #[error("{0:#x} is not a live context")]
    NotAContext(usize),
    #[error("memory attribute {0} does not exist")]
    MemoryAttribute(i32),
    #[error("the tasks of device {0} are being aborted")]
    Aborting(u32),
    #[error("stream {0} is dropping its tasks: aclrtStreamAbort was called on it")]
    StreamAborted(u32),
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
    #[error("the stream is capturing, so it cannot be {0}: end the capture first")]
    Capturing(&'static str),
    #[error(
        "the latest record of the event was captured: it is part of a graph and completes only when the graph runs"
    )]
    EventCaptured,
    #[error("the stream is not capturing")]
    NotCapturing,
    #[error(
        "the call blocks, which the mode of a capture in progress forbids: aclmdlRICaptureThreadExchangeMode with RELAXED allows it in this thread"
    )]
    CaptureForbids,
    #[error(
        "the default stream of a context cannot be captured, and takes no tasks while another stream of the context is: use a stream that the program created"
    )]
    CaptureDefault,
    #[error("the stream and the event belong to two captures, and one capture cannot depend on another")]
    CaptureConflict,
    #[error("{0}")]
    GroupState(String),
    #[error(
        "the capture did not begin on this stream: the stream joined it; end the capture on the stream where it began"
    )]
    NotOrigin,
    #[error("graph {0} is still running: wait for the stream that it was launched on")]
    GraphRunning(u32),
    #[error(
        "graph {0} cannot be aborted by its own host function or callback, which the abort would wait for: abort it from another thread"
    )]
    AbortInsideGraph(u32),
    #[error("the capture was begun by another thread: end it in that thread")]
    CaptureThread,
    #[error("the file {0}")]
    FileWrite(String),
    #[error("the array has room for {room} of {count} handles: query the number with NULL first")]
    ShortArray { room: usize, count: usize },
    #[error("the update does not fit: {0}")]
    UpdateFailed(String),
    #[error("the copy of pageable host memory would block, which the mode of a capture in progress forbids")]
    CaptureBlocks,
    #[error("the capture is invalid: a dependency that the graph needs was rejected, or the device was aborted")]
    CaptureInvalid,

    #[error("a sub-graph is still being captured")]
    SubGraphCapturing,

    // Queues and channels.
    #[error("{0}")]
    QueueEmpty(String),
    #[error("{0}")]
    QueueFull(String),

    // Not supported.
    #[error("{what} is not supported on {soc}")]
    Unsupported { what: &'static str, soc: String },
    #[error("an asynchronous copy from host to host is not supported: use aclrtMemcpy or memcpy")]
    HostToHost,
    #[error("{0}")]
    Feature(String),

    // Resources.
    #[error("out of memory on {pool}: {asked} bytes requested, {free} of {total} bytes free")]
    OutOfMemory { pool: MemoryPool, asked: usize, free: usize, total: usize },
    #[error("out of memory on the host: {asked} bytes requested for {what}")]
    NoHostBuffer { what: &'static str, asked: usize },
    #[error("no stream left on device {device}: {limit} exist, the limit of {soc}")]
    NoStream { device: u32, limit: u32, soc: String },
    #[error(
        "no stream left on device {device}: {limit} exist, the limit of {soc}, and graphs hold {graphs} of them; destroy graphs or streams"
    )]
    NoSharedStream { device: u32, limit: u32, graphs: u32, soc: String },
    #[error("no {0} handle left")]
    NoHandle(&'static str),
    #[error("no notify left on device {device}: {limit} exist, the limit of {soc}")]
    NoNotify { device: u32, limit: u32, soc: String },
    #[error("no event left on device {device}: {limit} exist, the limit of {soc}")]
    NoEvent { device: u32, limit: u32, soc: String },

    // State and execution.
    #[error("device {0} is not set, or was reset as often as it was set")]
    NotRetained(u32),
    #[error("the context is being destroyed")]
    ContextGone,
    #[error("the stream did not finish within {0} ms")]
    StreamTimeout(i32),
    #[error("the event did not complete within {0} ms")]
    EventTimeout(i32),
    #[error(
        "{article} {0} did not finish within {1} s: check who has to record it, or raise the limit",
        article = article(.0)
    )]
    WaitTimeout(&'static str, u64),
    #[error("no callback arrived within {0} ms")]
    ReportTimeout(i32),
    #[error("host range {start:#x} with {size} bytes overlaps memory that is pinned or registered already")]
    AlreadyRegistered { start: usize, size: usize },
    #[error("host address {0:#x} is not the start of a registered range")]
    NotRegistered(usize),
    #[error("device {from} may not access the memory of device {to}: {remedy}")]
    NoPeerAccess { from: u32, to: u32, remedy: String },
    #[error(
        "memory that is mapped at reserved addresses is copied between devices by asynchronous copies only: use aclrtMemcpyAsync"
    )]
    MappedBetweenDevices,
    #[error("{soc} cannot map memory of another process: it has no link for that")]
    NoImport { soc: String },
    #[error(
        "the memory was imported from a process on another device: use asynchronous copies of kind ACL_MEMCPY_DEVICE_TO_DEVICE"
    )]
    Remote,
    #[error(
        "process {process} may not import the memory of process {exporter}, which must allow it first, by its id from aclrtDeviceGetBareTgid"
    )]
    NotAllowed { process: u32, exporter: u32 },
    #[error("{side} memory is not accessible: an access to {len} bytes at {address:#x} faulted")]
    Inaccessible { side: &'static str, address: usize, len: usize },
    #[error("the device could not execute the copy: {0}")]
    DeviceCopy(String),
    /// As `DeviceCopy`, on chips that report it as an error of the task scheduler.
    #[error("the device could not execute the copy: {0}")]
    DeviceTask(String),
    #[error("a task of a graph failed with {code}: {cause}", code = .0.code(), cause = .0)]
    InGraph(Box<Error>),
    /// A kernel returned a code other than 0.
    #[error("kernel {name} failed with {code}")]
    Kernel { name: String, code: Code },
    /// A step of an operation returned a code other than 0.
    #[error("{name} failed with {code}: {why}")]
    Operation { name: String, code: Code, why: String },
    #[error("{what}")]
    Injected { code: Code, what: String },
    #[error("the runtime could not be set up: {0}")]
    Setup(String),
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// A call that cannot be part of the update of a task group. `what` starts with a vowel.
    pub fn updating(what: &str) -> Error {
        Error::GroupState(format!("an {what} cannot be part of the update of a task group"))
    }

    /// The failure of a task or of an entry of a batch, also if the task is a step of a graph.
    pub fn cause(&self) -> &Error {
        match self {
            Error::InGraph(error) | Error::Entry { error, .. } => error.cause(),
            error => error,
        }
    }

    /// The failure as a run of a graph reports it.
    pub fn in_graph(self) -> Error {
        if let Error::InGraph(_) = self { self } else { Error::InGraph(Box::new(self)) }
    }

    /// Adds the failed task to the sentence, for variants that carry text.
    pub fn of_task(self, name: &str, sequence: u64) -> Error {
        match self {
            Error::DeviceCopy(text) => Error::DeviceCopy(format!("{text} ({name}, task {sequence} of its stream)")),
            Error::DeviceTask(text) => Error::DeviceTask(format!("{text} ({name}, task {sequence} of its stream)")),
            Error::Injected { code, what } => {
                Error::Injected { code, what: format!("{what} ({name}, task {sequence} of its stream)") }
            }
            other => other,
        }
    }
}

/// A context, by its id and its device. A device can have several contexts.
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

/// A range that exceeds its allocation, with the numbers that locate the mistake.
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
            "the {} range exceeds its allocation: {} bytes at offset {offset} of the {} bytes at {:#x} ({}), {} too many",
            self.side,
            self.len,
            self.size,
            self.start,
            self.place,
            self.len - (self.size - offset),
        )
    }
}

/// The indefinite article of a wait or task: "an event wait", "a notify wait".
fn article(name: &str) -> &'static str {
    if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// Completes "there ..." with the devices that exist.
fn devices(count: u32) -> String {
    match count {
        0 => "are no devices".to_owned(),
        1 => "is 1 device (0)".to_owned(),
        n => format!("are {n} devices (0 to {})", n - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_device_is_reported_with_the_existing_ones() {
        let text = |count| Error::Device { given: 7, count }.to_string();
        assert_eq!(text(0), "device 7 does not exist: there are no devices");
        assert_eq!(text(1), "device 7 does not exist: there is 1 device (0)");
        assert_eq!(text(2), "device 7 does not exist: there are 2 devices (0 to 1)");
    }
    #[test]
    fn wait_timeout_uses_the_right_article() {
        let text = |what| Error::WaitTimeout(what, 3).to_string();
        assert!(text("event wait").starts_with("an event wait did not finish within 3 s:"));
        assert!(text("notify wait").starts_with("a notify wait did not finish within 3 s:"));
    }
}
