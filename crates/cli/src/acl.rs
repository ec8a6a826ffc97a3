//! The calls of the C interface that the demo and the benchmark make, each with its error turned into
//! a sentence. Nothing here reaches around the interface into the engine.

use anyhow::{Result, bail};
use ascendcl_capi::{callback, copy, device, error, event, extension, memory, stream};
use ascendcl_sys::*;
use std::ffi::{CStr, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Calls a function of the interface and fails with its message.
macro_rules! call {
    ($function:path, $($argument:expr),* $(,)?) => {{
        // SAFETY: the functions check their arguments; the addresses are of memory that the caller owns.
        let code = unsafe { $function($($argument),*) };
        check(stringify!($function), code)
    }};
}

fn check(function: &str, code: aclError) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let message = error::aclGetRecentErrMsg();
    if message.is_null() {
        bail!("{function} returned {code}");
    }
    // SAFETY: the text is valid until the next call of this thread.
    bail!("{}", unsafe { CStr::from_ptr(message) }.to_string_lossy());
}

pub fn set_device(number: i32) -> Result<()> {
    call!(device::aclrtSetDevice, number)
}

pub struct Stream(aclrtStream);

impl Stream {
    pub fn new() -> Result<Stream> {
        let mut handle = ptr::null_mut();
        call!(stream::aclrtCreateStream, &mut handle)?;
        Ok(Stream(handle))
    }

    pub fn synchronize(&self) -> Result<()> {
        call!(stream::aclrtSynchronizeStream, self.0)
    }

    /// Holds the stream up until the gate is opened: what is queued meanwhile only queues.
    pub fn block(&self) -> Result<Gate> {
        unsafe extern "C" fn wait(gate: *mut c_void) {
            // SAFETY: the pointer was made by `Arc::into_raw` for this one call.
            let gate = unsafe { Arc::from_raw(gate as *const Latch) };
            let open = gate.open.lock().unwrap_or_else(PoisonError::into_inner);
            drop(gate.changed.wait_while(open, |open| !*open));
        }
        let latch = Arc::new(Latch::default());
        let argument = Arc::into_raw(Arc::clone(&latch)).cast_mut().cast();
        call!(callback::aclrtLaunchHostFunc, self.0, Some(wait), argument)?;
        Ok(Gate(latch))
    }

    pub fn wait(&self, event: &Event) -> Result<()> {
        call!(event::aclrtStreamWaitEvent, self.0, event.0)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the handle came from aclrtCreateStream and is destroyed once.
        unsafe { stream::aclrtDestroyStream(self.0) };
    }
}

#[derive(Default)]
struct Latch {
    open: Mutex<bool>,
    changed: Condvar,
}

/// What a blocked stream waits for. Opens when dropped, so that no stream stays blocked.
pub struct Gate(Arc<Latch>);

impl Drop for Gate {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

pub struct Event(aclrtEvent);

impl Event {
    pub fn new() -> Result<Event> {
        let mut handle = ptr::null_mut();
        call!(event::aclrtCreateEvent, &mut handle)?;
        Ok(Event(handle))
    }

    pub fn record(&self, stream: &Stream) -> Result<()> {
        call!(event::aclrtRecordEvent, self.0, stream.0)
    }

    pub fn elapsed_ms(&self, later: &Event) -> Result<f32> {
        let mut ms = 0.0;
        call!(event::aclrtEventElapsedTime, &mut ms, self.0, later.0)?;
        Ok(ms)
    }
}

pub struct DeviceMemory(usize);

impl DeviceMemory {
    pub fn new(bytes: usize) -> Result<DeviceMemory> {
        let mut pointer = ptr::null_mut();
        call!(memory::aclrtMalloc, &mut pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST)?;
        Ok(DeviceMemory(pointer as usize))
    }

    pub fn at(&self, offset: usize) -> usize {
        self.0 + offset
    }

    /// Where a simulated kernel may touch the memory.
    pub fn host_view(&self, bytes: usize) -> Result<usize> {
        let mut view = ptr::null_mut();
        call!(extension::softaclHostView, self.0 as *mut c_void, bytes, &mut view)?;
        Ok(view as usize)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: the address came from aclrtMalloc and is freed once.
        unsafe { memory::aclrtFree(self.0 as *mut c_void) };
    }
}

pub struct PinnedMemory {
    start: usize,
    len: usize,
}

impl PinnedMemory {
    pub fn new(bytes: usize, content: impl Fn(usize) -> u8) -> Result<PinnedMemory> {
        let memory = PinnedMemory::allocate(bytes)?;
        for index in 0..bytes {
            // SAFETY: the memory was allocated with this size just above.
            unsafe { (memory.start as *mut u8).add(index).write(content(index)) };
        }
        Ok(memory)
    }

    /// With whatever is in it: zeros, or what was there before.
    pub fn allocate(bytes: usize) -> Result<PinnedMemory> {
        let mut pointer = ptr::null_mut();
        call!(memory::aclrtMallocHost, &mut pointer, bytes)?;
        Ok(PinnedMemory { start: pointer as usize, len: bytes })
    }

    pub fn at(&self, offset: usize) -> usize {
        self.start + offset
    }

    /// A part of the contents. No copy to it is under way when this is called.
    pub fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset + len <= self.len);
        // SAFETY: inside the allocation, initialised when it was made.
        unsafe { std::slice::from_raw_parts((self.start + offset) as *const u8, len) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: the address came from aclrtMallocHost and is freed once.
        unsafe { memory::aclrtFreeHost(self.start as *mut c_void) };
    }
}

pub fn copy(target: usize, source: usize, bytes: usize) -> Result<()> {
    call!(copy::aclrtMemcpy, target as *mut c_void, bytes, source as *const c_void, bytes, ACL_MEMCPY_DEFAULT)
}

pub fn copy_async(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    call!(
        copy::aclrtMemcpyAsync,
        target as *mut c_void,
        bytes,
        source as *const c_void,
        bytes,
        ACL_MEMCPY_DEFAULT,
        stream.0
    )
}

/// One batch of equal blocks in one direction.
pub fn batch_async(targets: &[usize], sources: &[usize], block: usize, to_device: bool, stream: &Stream) -> Result<()> {
    batch_of_sizes_async(targets, sources, &vec![block; targets.len()], to_device, stream)
}

/// One batch in one direction.
pub fn batch_of_sizes_async(
    targets: &[usize],
    sources: &[usize],
    sizes: &[usize],
    to_device: bool,
    stream: &Stream,
) -> Result<()> {
    let device = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_DEVICE };
    let host = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_HOST };
    let (dst, src) = if to_device { (device, host) } else { (host, device) };
    let mut attribute = aclrtMemcpyBatchAttr { dstLoc: dst, srcLoc: src, rsv: [0; 16] };
    let (mut first, mut failed) = (0, 0);
    call!(
        copy::aclrtMemcpyBatchAsync,
        targets.as_ptr().cast_mut().cast(),
        sizes.as_ptr().cast_mut(),
        sources.as_ptr().cast_mut().cast(),
        sizes.as_ptr().cast_mut(),
        targets.len(),
        &mut attribute,
        &mut first,
        1,
        &mut failed,
        stream.0,
    )
}

/// The name of the chip.
pub fn soc_name() -> String {
    let name = device::aclrtGetSocName();
    if name.is_null() {
        return "?".to_owned();
    }
    // SAFETY: a constant text of the library.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// How many devices there are.
pub fn device_count() -> Result<u32> {
    let mut count = 0;
    call!(device::aclrtGetDeviceCount, &mut count)?;
    Ok(count)
}

/// From pinned memory to the device.
pub fn upload_async(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    upload_each(&[target], &[source], bytes, stream)
}

/// A loop of asynchronous uploads. The function is called as a C program would, through a pointer that the
/// compiler cannot see through.
pub fn upload_each(targets: &[usize], sources: &[usize], bytes: usize, stream: &Stream) -> Result<()> {
    let copy_async: CopyAsync = black_box(copy::aclrtMemcpyAsync);
    for (&target, &source) in targets.iter().zip(sources) {
        // SAFETY: the function checks its arguments; the addresses are of memory that the caller owns.
        let code = unsafe {
            copy_async(
                target as *mut c_void,
                bytes,
                source as *const c_void,
                bytes,
                ACL_MEMCPY_HOST_TO_DEVICE,
                stream.0,
            )
        };
        if code != 0 {
            return check("aclrtMemcpyAsync", code);
        }
    }
    Ok(())
}

type CopyAsync = unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, i32, aclrtStream) -> aclError;

/// The same loop with a synchronisation after each copy.
pub fn upload_and_synchronize_each(targets: &[usize], sources: &[usize], bytes: usize, stream: &Stream) -> Result<()> {
    let copy_async: CopyAsync = black_box(copy::aclrtMemcpyAsync);
    let synchronize: unsafe extern "C" fn(aclrtStream) -> aclError = black_box(stream::aclrtSynchronizeStream);
    for (&target, &source) in targets.iter().zip(sources) {
        // SAFETY: the functions check their arguments; the addresses are of memory that the caller owns.
        let codes = unsafe {
            let to_device = ACL_MEMCPY_HOST_TO_DEVICE;
            let copied = copy_async(target as *mut c_void, bytes, source as *const c_void, bytes, to_device, stream.0);
            (copied, synchronize(stream.0))
        };
        if codes != (0, 0) {
            check("aclrtMemcpyAsync", codes.0)?;
            return check("aclrtSynchronizeStream", codes.1);
        }
    }
    Ok(())
}

/// From the device to pinned memory.
pub fn download_async(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    call!(
        copy::aclrtMemcpyAsync,
        target as *mut c_void,
        bytes,
        source as *const c_void,
        bytes,
        ACL_MEMCPY_DEVICE_TO_HOST,
        stream.0
    )
}

pub fn copy_on_device_async(target: usize, source: usize, bytes: usize, stream: &Stream) -> Result<()> {
    call!(
        copy::aclrtMemcpyAsync,
        target as *mut c_void,
        bytes,
        source as *const c_void,
        bytes,
        ACL_MEMCPY_DEVICE_TO_DEVICE,
        stream.0
    )
}

/// Rows of `width` bytes, `pitch` apart on both sides.
pub fn upload_plane_async(
    target: usize,
    source: usize,
    pitch: usize,
    width: usize,
    rows: usize,
    stream: &Stream,
) -> Result<()> {
    call!(
        copy::aclrtMemcpy2dAsync,
        target as *mut c_void,
        pitch,
        source as *const c_void,
        pitch,
        width,
        rows,
        ACL_MEMCPY_HOST_TO_DEVICE,
        stream.0
    )
}

/// Allocates and frees as often as asked.
pub fn allocate_and_free(bytes: usize, times: usize) -> Result<()> {
    type Allocate = unsafe extern "C" fn(*mut *mut c_void, usize, i32) -> aclError;
    type Free = unsafe extern "C" fn(*mut c_void) -> aclError;
    let (allocate, free): (Allocate, Free) = black_box((memory::aclrtMalloc, memory::aclrtFree));
    for _ in 0..times {
        let mut pointer = ptr::null_mut();
        // SAFETY: the result goes to a local variable.
        let code = unsafe { allocate(&mut pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST) };
        if code != 0 {
            return check("aclrtMalloc", code);
        }
        // SAFETY: allocated just above, freed once.
        let code = unsafe { free(pointer) };
        if code != 0 {
            return check("aclrtFree", code);
        }
    }
    Ok(())
}
