//! The carrier: one layer that moves bytes between the ranks of a job.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`group`] | ranks that have met: their channels, and whether each of them still lives |
//! | [`meeting`] | how ranks find each other: by a key, or by a name in a process |
//! | [`channel`] | a one-way stream of bytes from one rank to another |
//! | [`host`] | where a process runs, as far as ranks can find each other |
//! | `life` | whether another process still runs |
//! | `segment` | the shared memory file behind a group |
//!
//! Ranks are processes of one host, or threads of one process. Nothing listens, no daemon and no name in a file system
//! exists: the memory file of a group is found through `/proc`, by processes of the same user, and disappears with its
//! last user. Nothing here waits, except the meeting: a channel that is full or empty says so, and a rank that is lost is
//! found by asking. What the bytes mean is not known here.

pub mod channel;
pub mod group;
pub mod host;
mod life;
pub mod meeting;
mod segment;
