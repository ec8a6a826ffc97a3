//! The calls of the C interface that the demo makes, each with its error turned into a sentence.

use anyhow::{Result, bail};
use ascendcl::{copy, device, error, event, memory, stream};
use ascendcl_sys::*;
use std::ffi::{CStr, c_void};
use std::ptr;

/// Calls a function of the interface and fails with its message.
macro_rules! call {
    ($function:path, $($argument:expr),* $(,)?) => {{
        // SAFETY: the functions check their arguments; the addresses are of memory that the demo owns.
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

    pub fn wait(&self, event: &Event) -> Result<()> {
        call!(event::aclrtStreamWaitEvent, self.0, event.0)
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
}

pub struct PinnedMemory {
    start: usize,
    len: usize,
}

impl PinnedMemory {
    pub fn new(bytes: usize, content: impl Fn(usize) -> u8) -> Result<PinnedMemory> {
        let mut pointer = ptr::null_mut();
        call!(memory::aclrtMallocHost, &mut pointer, bytes)?;
        for index in 0..bytes {
            // SAFETY: the memory was allocated with this size just above.
            unsafe { pointer.cast::<u8>().add(index).write(content(index)) };
        }
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
    let device = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_DEVICE };
    let host = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_HOST };
    let (dst, src) = if to_device { (device, host) } else { (host, device) };
    let mut attribute = aclrtMemcpyBatchAttr { dstLoc: dst, srcLoc: src, rsv: [0; 16] };
    let sizes = vec![block; targets.len()];
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

/// What the steps are compared with: the C library's memcpy over as many bytes in as many scattered
/// pieces, on pages of the same kind.
pub struct Reference {
    target: PinnedMemory,
    source: PinnedMemory,
    order: Vec<usize>,
    piece: usize,
}

impl Reference {
    pub fn new(bytes: usize, pieces: usize) -> Result<Reference> {
        Ok(Reference {
            target: PinnedMemory::new(bytes, |_| 1)?,
            source: PinnedMemory::new(bytes, |_| 2)?,
            order: super::scattered(pieces),
            piece: bytes / pieces,
        })
    }

    pub fn run(&self) {
        for index in &self.order {
            let offset = index * self.piece;
            // SAFETY: both ranges lie inside allocations of this value, which do not overlap.
            unsafe { libc::memcpy(self.target.at(offset) as *mut _, self.source.at(offset) as *const _, self.piece) };
        }
    }
}
