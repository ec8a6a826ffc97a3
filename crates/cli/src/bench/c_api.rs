//! The C calls that the benchmark measures, on plain addresses.
//!
//! Streams and memory belong to the safe types of `ascendcl`. The measured calls do not go through those types: their
//! checks and bookkeeping would be measured as well. Most calls are those of `ascendcl::raw`. The loops that also
//! serve instruction counts call through function pointers, as a C program does, because `raw` looks up the function
//! on every call.

use crate::runtime;
use anyhow::{Context as _, Error, Result, anyhow};
use ascendcl::sys::*;
use ascendcl::{Context, DeviceBuffer, Stream, raw};
use ascendcl_capi::kernel::{self, KernelRange};
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Makes a context current for the calls of this thread.
pub fn make_current(context: &Context) -> Result<()> {
    // SAFETY: the context is alive.
    Ok(unsafe { raw::aclrtSetCurrentContext(context.as_raw()) }?)
}

pub fn synchronize(stream: &Stream) -> Result<()> {
    // SAFETY: the stream is alive.
    Ok(unsafe { raw::aclrtSynchronizeStream(stream.as_raw()) }?)
}

/// Queues a copy from pinned memory to the device.
pub fn upload(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    copy_async(target, source, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
}

/// Queues a copy from the device to pinned memory.
pub fn download(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    copy_async(target, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
}

/// Queues a copy within the device.
pub fn copy_on_device(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    copy_async(target, source, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream)
}

fn copy_async(target: usize, source: usize, bytes: usize, kind: i32, stream: &Stream) -> Result<()> {
    let (target, source) = (target as *mut c_void, source as *const c_void);
    // SAFETY: the function checks its arguments; the caller owns the memory until it has synchronized the stream.
    Ok(unsafe { raw::aclrtMemcpyAsync(target, bytes, source, bytes, kind, stream.as_raw()) }?)
}

/// Queues one batch from pinned memory to the device.
pub fn upload_batch(targets: &[usize], sources: &[usize], sizes: &[usize], stream: &Stream) -> Result<()> {
    let device = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_DEVICE };
    let host = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_HOST };
    let mut attribute = aclrtMemcpyBatchAttr { dstLoc: device, srcLoc: host, rsv: [0; 16] };
    let (mut first, mut failed) = (0, 0);
    // SAFETY: the arrays have `targets.len()` elements, which the function only reads; the caller owns the memory until
    // it has synchronized the stream.
    let queued = unsafe {
        raw::aclrtMemcpyBatchAsync(
            targets.as_ptr().cast_mut().cast(),
            sizes.as_ptr().cast_mut(),
            sources.as_ptr().cast_mut().cast(),
            sizes.as_ptr().cast_mut(),
            targets.len(),
            &mut attribute,
            &mut first,
            1,
            &mut failed,
            stream.as_raw(),
        )
    };
    Ok(queued?)
}

/// Queues a 2D copy to the device: rows of `width` bytes, `pitch` apart on both sides.
pub fn upload_2d(target: usize, source: usize, pitch: usize, width: usize, rows: usize, stream: &Stream) -> Result<()> {
    let (target, source, kind) = (target as *mut c_void, source as *const c_void, ACL_MEMCPY_HOST_TO_DEVICE);
    // SAFETY: the function checks its arguments; the caller owns the memory until it has synchronized the stream.
    Ok(unsafe { raw::aclrtMemcpy2dAsync(target, pitch, source, pitch, width, rows, kind, stream.as_raw()) }?)
}

const MISSING: &str = "the library lacks a function";

type CopyAsync = unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, i32, aclrtStream) -> aclError;
type Synchronize = unsafe extern "C" fn(aclrtStream) -> aclError;
type Allocate = unsafe extern "C" fn(*mut *mut c_void, usize, i32) -> aclError;
type Free = unsafe extern "C" fn(*mut c_void) -> aclError;

/// Queues uploads of equal size in a loop.
pub fn upload_each(targets: &[usize], sources: &[usize], bytes: usize, stream: &Stream) -> Result<()> {
    let copy_async: CopyAsync = black_box(raw::functions()?.aclrtMemcpyAsync().context(MISSING)?);
    let stream = stream.as_raw();
    for (&target, &source) in targets.iter().zip(sources) {
        let (target, source, kind) = (target as *mut c_void, source as *const c_void, ACL_MEMCPY_HOST_TO_DEVICE);
        // SAFETY: as for `copy_async`.
        let code = unsafe { copy_async(target, bytes, source, bytes, kind, stream) };
        if code != 0 {
            return Err(error("aclrtMemcpyAsync", code));
        }
    }
    Ok(())
}

/// Queues uploads of equal size in a loop and synchronizes the stream after each.
pub fn upload_and_synchronize_each(targets: &[usize], sources: &[usize], bytes: usize, stream: &Stream) -> Result<()> {
    let copy_async: CopyAsync = black_box(raw::functions()?.aclrtMemcpyAsync().context(MISSING)?);
    let synchronize: Synchronize = black_box(raw::functions()?.aclrtSynchronizeStream().context(MISSING)?);
    let stream = stream.as_raw();
    for (&target, &source) in targets.iter().zip(sources) {
        let (target, source, kind) = (target as *mut c_void, source as *const c_void, ACL_MEMCPY_HOST_TO_DEVICE);
        // SAFETY: as for `copy_async`; the stream is alive.
        let codes = unsafe { (copy_async(target, bytes, source, bytes, kind, stream), synchronize(stream)) };
        match codes {
            (0, 0) => {}
            (0, code) => return Err(error("aclrtSynchronizeStream", code)),
            (code, _) => return Err(error("aclrtMemcpyAsync", code)),
        }
    }
    Ok(())
}

/// Allocates and frees device memory `times` times.
pub fn allocate_and_free(bytes: usize, times: usize) -> Result<()> {
    let functions = raw::functions()?;
    let allocate: Allocate = black_box(functions.aclrtMalloc().context(MISSING)?);
    let free: Free = black_box(functions.aclrtFree().context(MISSING)?);
    for _ in 0..times {
        let mut pointer = ptr::null_mut();
        // SAFETY: the result goes to a local variable.
        let code = unsafe { allocate(&mut pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST) };
        if code != 0 {
            return Err(error("aclrtMalloc", code));
        }
        // SAFETY: allocated above, freed once.
        let code = unsafe { free(pointer) };
        if code != 0 {
            return Err(error("aclrtFree", code));
        }
    }
    Ok(())
}

/// Queues kernels that do nothing and declare to write `bytes` at `target`.
pub fn launch_each(target: usize, bytes: usize, count: usize, stream: &Stream) -> Result<()> {
    unsafe extern "C" fn nothing(_: *mut c_void) -> i32 {
        0
    }
    let range = KernelRange::new(target as *mut c_void, bytes, kernel::WRITE);
    let launch = runtime::launch_kernel()?;
    for _ in 0..count {
        // SAFETY: the function touches nothing, the range and the name are read by the call.
        let code =
            unsafe { launch(stream.as_raw(), Some(nothing), ptr::null_mut(), None, &range, 1, c"nothing".as_ptr()) };
        if code != 0 {
            return Err(error("softaclLaunchKernel", code));
        }
    }
    Ok(())
}

/// Returns the error of a failed call, with the message of the runtime.
#[cold]
fn error(function: &str, code: aclError) -> Error {
    // SAFETY: the function has no preconditions.
    match unsafe { raw::aclGetRecentErrMsg() } {
        Ok(Some(message)) => anyhow!("{message}"),
        _ => anyhow!("{function} returned {code}"),
    }
}

/// Returns the address at which a simulated kernel may access device memory.
pub fn host_view(buffer: &DeviceBuffer<u8>) -> Result<usize> {
    // SAFETY: the buffer is alive.
    Ok(unsafe { raw::softaclHostView(buffer.as_raw(), buffer.len()) }? as usize)
}

/// Blocks a stream until the returned gate is dropped, so that tasks are queued but not executed.
pub fn block(stream: &Stream) -> Result<Gate> {
    unsafe extern "C" fn wait(latch: *mut c_void) {
        // SAFETY: the pointer was created by `Arc::into_raw` for this call.
        let latch = unsafe { Arc::from_raw(latch as *const Latch) };
        let is_open = latch.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(latch.opened.wait_while(is_open, |is_open| !*is_open));
    }
    let latch = Arc::new(Latch::default());
    let argument = Arc::into_raw(Arc::clone(&latch)).cast_mut().cast();
    // SAFETY: the stream is alive; the argument is owned by the call.
    unsafe { raw::aclrtLaunchHostFunc(stream.as_raw(), Some(wait), argument) }?;
    Ok(Gate(latch))
}

#[derive(Default)]
struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

/// Unblocks a stream when dropped.
pub struct Gate(Arc<Latch>);

impl Drop for Gate {
    fn drop(&mut self) {
        *self.0.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }
}
