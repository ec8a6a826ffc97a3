//! Work: what a task does, as far as time is concerned, and which engine does it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    Device(u32),
    /// Host memory that copies use directly.
    Pinned,
    /// Any other host memory.
    Pageable,
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Copy {
        source: Place,
        target: Place,
        /// Bytes of all entries.
        bytes: u64,
        entries: u32,
        /// True if one call submits all entries.
        is_batch: bool,
    },
    Kernel {
        device: u32,
        /// Number of its name in the log.
        name: u32,
        /// How long it runs, if that was given or measured.
        ns: Option<u64>,
    },
    /// An event is recorded or waited for.
    Event,
    /// A function of the program runs on the host, and the stream waits for it.
    HostFunction { ns: u64 },
    /// Takes its place in the stream, and no time.
    Nothing,
}

impl Work {
    /// A copy of one range, submitted by a separate call.
    pub fn copy(source: Place, target: Place, bytes: u64) -> Work {
        Work::Copy { source, target, bytes, entries: 1, is_batch: false }
    }

    pub fn engine(&self) -> Engine {
        match *self {
            Work::Copy { source: Place::Device(from), target: Place::Device(to), .. } if from == to => {
                Engine::Inside(from)
            }
            Work::Copy { source: Place::Device(from), target: Place::Device(to), .. } => Engine::Link(from, to),
            Work::Copy { source: Place::Device(from), .. } => Engine::DeviceToHost(from),
            Work::Copy { target: Place::Device(to), .. } => Engine::HostToDevice(to),
            Work::Copy { .. } => Engine::Host,
            Work::Kernel { device, .. } => Engine::Compute(device),
            Work::Event | Work::HostFunction { .. } | Work::Nothing => Engine::None,
        }
    }

    pub fn bytes(&self) -> u64 {
        if let Work::Copy { bytes, .. } = self { *bytes } else { 0 }
    }

    pub fn is_copy(&self) -> bool {
        matches!(self, Work::Copy { .. })
    }
}

/// A call about memory. It takes host time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Malloc,
    Free,
    MallocHost,
    FreeHost,
    /// Registers this many pages of 4 KiB, and unregisters them later: the public figure is of both.
    Register {
        pages: u32,
    },
}

/// A part of a device that does one thing at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Engine {
    HostToDevice(u32),
    DeviceToHost(u32),
    /// Copies inside the memory of a device.
    Inside(u32),
    /// Copies from one device to another.
    Link(u32, u32),
    /// Copies inside the memory of the host.
    Host,
    /// The cores: one kernel at a time.
    Compute(u32),
    /// No engine is needed.
    None,
}

impl Engine {
    pub fn is_copy_engine(self) -> bool {
        !matches!(self, Engine::Compute(_) | Engine::None)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engine::HostToDevice(device) => write!(f, "H2D of device {device}"),
            Engine::DeviceToHost(device) => write!(f, "D2H of device {device}"),
            Engine::Inside(device) => write!(f, "D2D of device {device}"),
            Engine::Link(from, to) => write!(f, "link {from} to {to}"),
            Engine::Host => f.write_str("host memory"),
            Engine::Compute(device) => write!(f, "cores of device {device}"),
            Engine::None => f.write_str("no engine"),
        }
    }
}
