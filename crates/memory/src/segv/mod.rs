//! Handlers for SIGSEGV, SIGBUS and SIGTRAP.
//!
//! A fault inside the byte routines becomes an error of the copy: a range of the program was not accessible. A fault on
//! protected pinned memory goes to the page guard of the observer. A host access to a device address is reported on
//! stderr, with the allocation, and then proceeds as on hardware. Every other fault is forwarded to the handler that
//! was installed before.
//!
//! The handler itself allocates nothing and takes no lock. A [`PageGuard`] may do both: it is called only for faults on
//! pinned memory, which neither the allocator nor the holder of a guard's lock accesses.
//!
//! | module | what it is |
//! | --- | --- |
//! | `handler` | the signal handlers, their installation, and forwarding |
//! | `address_space` | what the handler consults about an address |
//! | `guard` | fault delivery on the current thread |
//! | `program` | fallible reads and writes of program memory |
//! | `registers`, `signals` | the interrupted code; sets of signals |

mod address_space;
mod guard;
mod handler;
mod program;
mod registers;
mod signals;

pub use address_space::{AddressSpace, Domain, FaultAction, PageGuard};
pub use guard::{FaultGuard, enter, enter_often};
pub use handler::{ensure_guarding, ensure_installed, reinstall_handlers, set_on_fatal};
pub use program::{is_readable, try_read, try_read_c_str, try_write};
