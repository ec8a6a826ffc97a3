//! Shared buffers, queues with routes, and tensor channels.
//!
//! Everything here is in host memory of one process. There is no device program that could take from a queue or put
//! into a channel, so what a thread of the program sends, another thread of the program receives. Streams and device
//! memory are the engine's; this crate does not know them, and they do not know it.
//!
//! - [`buffer`]: reference-counted buffers that can be chained
//! - [`queue`]: bounded queues of messages, and routes that move messages from one queue to others
//! - [`channel`]: named, bounded channels of tensor lists
//! - [`timeout`]: how long a call waits
//!
//! Messages own their bytes. Only the C API reads or writes memory of the program.

pub mod buffer;
pub mod channel;
pub mod queue;
pub mod timeout;
