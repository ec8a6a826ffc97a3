//! Safe Rust for AscendCL, the runtime of Huawei Ascend cards: stream-ordered copies that cannot dangle.
//!
//! The library is loaded at run time, so one program runs on a card and, with softacl, on any machine without one.
//!
//! ```
//! use ascendcl::Device;
//!
//! let context = Device::new(0)?.new_context()?;
//! let stream = context.new_stream()?;
//!
//! let host = context.alloc_pinned_from_slice(&[1.0f32, 2.0, 3.0])?;
//! let mut device = context.alloc_zeros::<f32>(3)?;
//! let host = stream.upload(host, &mut device)?.wait()?;     // the buffer is away while it is copied
//! assert_eq!(device.to_vec()?, *host);
//! # Ok::<(), ascendcl::Error>(())
//! ```
//!
//! # Three levels
//!
//! | level | what it is |
//! | --- | --- |
//! | [`sys`] | types, constants, the manifest of all functions |
//! | [`raw`] | one unsafe function per C function, each a `Result` |
//! | this crate | owning and safe |
//!
//! # What is what
//!
//! | C | CUDA (cudarc) | here |
//! | --- | --- | --- |
//! | `aclrtSetDevice`, `aclrtCreateContext` | `CudaContext::new(0)` | `Device::new(0)?.new_context()` |
//! | `aclrtCreateStream` | `ctx.new_stream()` | [`Context::stream`] |
//! | `aclrtMalloc` + `aclrtMemset` | `stream.alloc_zeros(n)` | [`Context::zeros`] |
//! | `aclrtMalloc` | `unsafe { stream.alloc(n) }` | [`Context::buffer`] |
//! | `aclrtMallocHost` | `unsafe { ctx.alloc_pinned(n) }` | [`Context::pinned`] |
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
//! | pointer arithmetic | `dev.slice(a..b)` | [`DeviceBuffer::slice`] |
//! | `aclrtCreateEvent`, `aclrtRecordEvent` | `stream.record_event(None)` | [`Stream::record`] |
//! | `aclrtStreamWaitEvent` | `stream.wait(&event)` | [`Stream::wait`] |
//! | `aclrtSynchronizeStream` | `stream.synchronize()` | [`Stream::synchronize`], [`Transfer::wait`], `.await` |
//!
//! # What cannot go wrong
//!
//! - **Host memory of an asynchronous copy is away until the copy is over.** It is inside the [`Transfer`], or borrowed
//!   by a [`Scope`] that waits on every way out. A transfer that is dropped leaves its memory with the stream; one
//!   that is forgotten leaks it. Ordinary slices have blocking methods only.
//! - **Device memory is freed when no work uses it.** Buffers know the work of all streams that uses them; use on
//!   another stream inserts the wait, or is an error in [strict mode](Context::set_strict).
//! - **Everything can be dropped in any order**: what needs a context or a stream holds it.
//! - **Contexts are values.** Any thread may use any stream; what is current on the thread does not matter.
//! - **Errors say where**: code, name, function, the sentence of the runtime, and where the copy was submitted.
//!
//! # Which library
//!
//! See [`raw::loaded`]. The feature `bundled` (on by default) makes softacl a part of the program, for machines where no
//! library is found; `bundled-only` uses nothing else, for tests.
//!
//! # Tests
//!
//! [`test::on_schedules`] runs a test body on many legal orders of the asynchronous work, under softacl's checker.

#![deny(missing_docs, missing_debug_implementations)]

mod batch;
mod buffer;
mod context;
mod copy;
mod descriptor;
mod device;
mod element;
mod error;
mod event;
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
pub use event::Event;
pub use pinned::{PinnedBuffer, PinnedView, PinnedViewMut};
pub use plane::Plane;
pub use scope::Scope;
pub use stream::Stream;
pub use transfer::Transfer;
