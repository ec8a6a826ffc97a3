//! An access of host code to memory in flight, and the host function that made it. Plain data: the guard records it, and
//! `touches` judges it.

use crate::backtrace;
use softacl_engine::observer::StreamPosition;
use std::cell::Cell;
use std::time::Instant;

thread_local! {
    /// The host function that this thread executes.
    pub(crate) static FUNCTION: Cell<Option<RunningFunction>> = const { Cell::new(None) };
}

/// A host function that a thread executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunningFunction {
    pub(crate) at: StreamPosition,
    /// The tasks behind it wait until it has returned. Those behind a callback that does not block may run before.
    pub(crate) holds_stream: bool,
}

/// What a recorded access is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessType {
    Read,
    Write,
    /// Not an access: the page was left unprotected because of many accesses beside the bytes in flight.
    LeftOpen,
}

/// A host access that hit a protected page.
#[derive(Debug)]
pub(crate) struct HostAccess {
    /// Position in the global order of operations. Assigned before the page is read.
    pub(crate) sequence: u64,
    pub(crate) address: usize,
    pub(crate) kind: AccessType,
    pub(crate) backtrace: backtrace::RawBacktrace,
    pub(crate) when: Instant,
    pub(crate) thread: u32,
    pub(crate) function: Option<RunningFunction>,
    /// The function that passed the memory to a system call, if any.
    pub(crate) call: Option<&'static str>,
    /// Contents of the page before the access. Empty if no copy in flight reads the page.
    pub(crate) before: Box<[u8]>,
}
