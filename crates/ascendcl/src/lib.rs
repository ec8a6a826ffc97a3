//! Safe Rust bindings for AscendCL, the runtime API of Huawei Ascend NPUs.
//!
//! Copies are asynchronous and stream-ordered, and the types rule out dangling buffers. The library is loaded at run
//! time: one program uses an Ascend card if the host has one, and otherwise softacl, which needs no card.
//!
//! ```
//! use ascendcl::Device;
//!
//! let context = Device::new(0)?.new_context()?;
//! let stream = context.new_stream()?;
//!
//! let host = context.alloc_pinned_from_slice(&[1.0f32, 2.0, 3.0])?;
//! let mut device = context.alloc_zeros::<f32>(3)?;
//! let host = stream.upload(host, &mut device)?.wait()?;     // the transfer owns `host` until it completes
//! assert_eq!(device.to_vec()?, *host);
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Layers
//!
//! | layer | contents |
//! | --- | --- |
//! | [`sys`] | types, constants, the manifest of all functions |
//! | [`raw`] | one unsafe function per C function, returning a [`Result`] |
//! | this crate | safe, owning types |
//!
//! # Concepts
//!
//! | C | CUDA (cudarc) | `ascendcl` |
//! | --- | --- | --- |
//! | `aclrtSetDevice`, `aclrtCreateContext` | `CudaContext::new(0)` | [`Device::new_context`] |
//! | `aclrtCreateStream` | `ctx.new_stream()` | [`Context::new_stream`] |
//! | `aclrtMalloc` + `aclrtMemset` | `stream.alloc_zeros(n)` | [`Context::alloc_zeros`] |
//! | `aclrtMalloc` | `unsafe { stream.alloc(n) }` | [`Context::alloc_uninit`] |
//! | `aclrtMallocHost` | `unsafe { ctx.alloc_pinned(n) }` | [`Context::alloc_pinned`] |
//! | `aclrtMemcpy` to the device | `stream.clone_htod(&slice)` | [`Context::alloc_from_slice`] |
//! | `aclrtMemcpy` to the host | `stream.clone_dtoh(&buffer)` | [`DeviceBuffer::to_vec`] |
//! | `aclrtMemcpyAsync`, pinned to device | `stream.memcpy_htod(&host, &mut dev)` | [`Stream::upload`] |
//! | `aclrtMemcpyAsync`, device to pinned | `stream.memcpy_dtoh(&dev, &mut host)` | [`Stream::download`] |
//! | `aclrtMemcpyAsync`, on the device | `stream.memcpy_dtod(&src, &mut dst)` | [`Stream::copy`] |
//! | `aclrtMemcpyAsync`, to another device | `stream.memcpy_dtod(&src, &mut dst)` | [`Stream::copy_peer`] |
//! | `aclrtMemcpy2dAsync` | | [`Stream::upload_2d`], [`Stream::download_2d`], [`Stream::copy_2d`] |
//! | `aclrtMemsetAsync` | `stream.memset_zeros(&mut dev)` | [`Stream::fill`] |
//! | `aclrtMemcpyBatchAsync` | | [`Batch`], [`Stream::submit`] |
//! | `aclrtMemcpyAsyncWithDesc` | | [`Descriptor`] |
//! | pointer arithmetic | `dev.slice(a..b)` | [`DeviceBuffer::slice`], [`PinnedBuffer::slice`] |
//! | `aclrtCreateEvent`, `aclrtRecordEvent` | `stream.record_event(None)` | [`Stream::record`] |
//! | `aclrtStreamWaitEvent` | `stream.wait(&event)` | [`Stream::wait`] |
//! | `aclrtSynchronizeStream` | `stream.synchronize()` | [`Stream::synchronize`], [`Transfer::wait`], `.await` |
//! | any other function | `cudarc::driver::sys` | [`raw`] |
//!
//! # Guarantees
//!
//! - **Transfers own their host memory.** Host memory of an asynchronous copy is inside the [`Transfer`], or borrowed
//!   by a [`Scope`] that waits on every exit path. A dropped transfer leaves its memory with the stream; a forgotten
//!   one leaks it. Slices in ordinary memory have only blocking methods.
//! - **Device memory is freed when no work uses it.** Buffers track their pending uses on all streams. Use on another
//!   stream inserts a wait, or is an error in [strict mode](Context::set_strict).
//! - **Drop order is free.** Streams, events and buffers keep their context alive.
//! - **Contexts are values.** Any thread may use any object, whatever its current context is. All types are `Send` and
//!   `Sync`.
//! - **Errors are precise.** An [`Error`] has the code, its name and [`ErrorKind`], the function, the message of the
//!   runtime, and the source location that submitted the work.
//!
//! # Library selection
//!
//! See [`raw::loaded`] for the search order. The feature `bundled` (enabled by default) links softacl into the program,
//! as the fallback if no library is found. The feature `bundled-only` uses nothing else, for tests.
//!
//! # Testing
//!
//! [`test::on_schedules`] runs a test body on many legal execution orders of the asynchronous work, under softacl's
//! checker.

#![deny(missing_docs, missing_debug_implementations)]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod batch;
mod buffer;
mod context;
mod copy;
mod descriptor;
mod device;
mod element;
mod error;
mod error_kind;
mod event;
mod memory;
mod pinned;
mod plane;
pub mod raw;
mod scope;
mod stream;
pub mod test;
mod transfer;
mod waiters;

pub use ascendcl_sys as sys;
pub use batch::Batch;
pub use buffer::{DeviceBuffer, View, ViewMut};
pub use context::Context;
pub use descriptor::Descriptor;
pub use device::{Device, MemoryInfo};
pub use element::Element;
pub use error::{Error, Result};
pub use error_kind::ErrorKind;
pub use event::Event;
pub use pinned::{PinnedBuffer, PinnedView, PinnedViewMut};
pub use plane::Plane;
pub use scope::Scope;
pub use stream::Stream;
pub use transfer::Transfer;

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only if all types are `Send` and `Sync`.
    #[test]
    fn all_types_are_send_and_sync() {
        fn shared<T: Send + Sync>() {}
        shared::<Device>();
        shared::<Context>();
        shared::<Stream>();
        shared::<Event>();
        shared::<DeviceBuffer<u8>>();
        shared::<PinnedBuffer<u8>>();
        shared::<View<'_, u8>>();
        shared::<ViewMut<'_, u8>>();
        shared::<PinnedView<'_, u8>>();
        shared::<PinnedViewMut<'_, u8>>();
        shared::<Scope<'_, '_>>();
        shared::<Transfer<PinnedBuffer<u8>>>();
        shared::<Batch<'_, u8>>();
        shared::<Descriptor<u8>>();
        shared::<Error>();
    }
}
