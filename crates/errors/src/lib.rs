//! Errors of the runtime: why a call failed, the sentence that explains it, and the code that C sees.
//!
//! [`Error`] has one variant per cause, with the values that the sentence needs. Causes that occur at a single call
//! share a variant per code (`Argument`, `Parameter`, `Feature`, `GroupState`, `UpdateFailed`, `FileWrite`,
//! `DeviceCopy`, `DeviceTask`, `Setup`, `Internal`); the call that detects the cause writes their sentence.
//!
//! A sentence does not name the function that failed: the entry layer adds the name and the code. Nothing here reads
//! environment variables or mentions one.
//!
//! - `error`: the causes and their sentences
//! - `code`: the code of every cause
//! - `kinds`: kinds of handles, and memory that can run out
//! - `layer`: which layer of the API rejects the call

mod code;
mod error;
mod kinds;
mod layer;

pub use code::RETURNED_CODES;
pub use error::{Code, Error, OutOfBounds, Owner};
pub use kinds::{HandleKind, MemoryPool};
pub use layer::Layer;

/// Result of a call. The error is boxed so that a result fits into registers, which keeps the path of every copy short.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// Returns `error` as the failure of a call.
#[cold]
pub fn fail<T>(error: Error) -> Result<T> {
    Err(Box::new(error))
}
