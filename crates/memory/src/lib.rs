//! Memory: the address map of the machine, the byte routines, and the handler of access faults.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`memory`] | every memory of a machine, and the look-up of an address |
//! | [`heap`] | allocations of one device or of pinned memory, with quarantine |
//! | [`reservation`], [`physical`] | virtual memory: reserved addresses, and the memory that is mapped there |
//! | [`registration`] | host memory that the program registered |
//! | [`export`], [`ipc_registry`] | memory that other processes import |
//! | [`shared`] | counters that several processes use |
//! | [`address`], [`extent`], [`touch`] | the types for addresses, allocations and accesses |
//! | [`region`] | the only module that maps memory |
//! | [`bytes`] | the only module that reads or writes memory of the program or of a device |
//! | [`segv`] | handlers for SIGSEGV, SIGBUS and SIGTRAP |
//!
//! Nothing here depends on streams or tasks. Memory that queued work may still use is described by a closure
//! ([`heap::Idle`]).

pub mod address;
pub mod bytes;
mod committed_ranges;
pub mod export;
pub mod extent;
pub mod heap;
pub mod ipc_registry;
pub mod mailbox;
pub mod memory;
pub mod physical;
pub mod region;
pub mod registration;
pub mod reservation;
pub mod segv;
pub mod shared;
pub mod touch;
pub mod use_lock;

pub use address::{Hints, MemoryKind, MemoryLocation, ResolvedAddress, Window};
pub use extent::Extent;
pub use heap::Usage;
pub use memory::{Finder, Memory, host_memory_size};
pub use region::{Rights, system_page, without_size_signal};
pub use segv::{FaultAction, PageGuard};
