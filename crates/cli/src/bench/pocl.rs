//! PoCL (Portable Computing Language, an OpenCL implementation) as a reference. Loaded at run time and optional.
//!
//! Declares only what copies need. Constants and prototypes follow the OpenCL 1.2 specification.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

type Handle = *mut c_void;
const DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
const PLATFORM_NAME: u32 = 0x0902;
const PLATFORM_VERSION: u32 = 0x0901;
const MEM_READ_WRITE: u64 = 1;
const COMPLETE: i32 = 0;

/// Declares the functions to look up in the library.
macro_rules! functions {
    ($($name:ident: fn($($kind:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case)]
        struct Functions { $($name: unsafe extern "C" fn($($kind),*) -> $result),* }

        impl Functions {
            fn load(library: Handle) -> Result<Functions> {
                Ok(Functions { $($name: {
                    let name = CString::new(stringify!($name))?;
                    // SAFETY: the library is open and stays open.
                    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
                    ensure!(!found.is_null(), "libOpenCL does not export {}", stringify!($name));
                    // SAFETY: the prototype is that of the specification.
                    unsafe { std::mem::transmute::<Handle, unsafe extern "C" fn($($kind),*) -> $result>(found) }
                }),* })
            }
        }
    };
}

functions! {
    clGetPlatformIDs: fn(u32, *mut Handle, *mut u32) -> i32;
    clGetPlatformInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetDeviceIDs: fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    clCreateContext: fn(*const isize, u32, *const Handle, *const c_void, *mut c_void, *mut i32) -> Handle;
    clCreateCommandQueue: fn(Handle, Handle, u64, *mut i32) -> Handle;
    clReleaseCommandQueue: fn(Handle) -> i32;
    clCreateBuffer: fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    clReleaseMemObject: fn(Handle) -> i32;
    clEnqueueWriteBuffer: fn(Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueReadBuffer: fn(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueCopyBuffer: fn(Handle, Handle, Handle, usize, usize, usize, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueWriteBufferRect: fn(Handle, Handle, u32, *const usize, *const usize, *const usize, usize, usize, usize,
        usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    clCreateUserEvent: fn(Handle, *mut i32) -> Handle;
    clSetUserEventStatus: fn(Handle, i32) -> i32;
    clReleaseEvent: fn(Handle) -> i32;
    clFlush: fn(Handle) -> i32;
    clFinish: fn(Handle) -> i32;
}

pub struct Pocl {
    functions: Functions,
    context: Handle,
    device: Handle,
    pub version: String,
}

fn check(name: &str, code: i32) -> Result<()> {
    ensure!(code == 0, "{name} returned {code}");
    Ok(())
}

impl Pocl {
    pub fn open() -> Result<Pocl> {
        // SAFETY: loads a system library and runs its initializers.
        let library = unsafe { libc::dlopen(c"libOpenCL.so.1".as_ptr(), libc::RTLD_NOW) };
        ensure!(!library.is_null(), "libOpenCL.so.1 is not installed");
        let functions = Functions::load(library)?;
        let platform = find_platform(&functions)?;
        let version = short(&platform_text(&functions, platform, PLATFORM_VERSION)?);
        let mut device = ptr::null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (functions.clGetDeviceIDs)(platform, DEVICE_TYPE_ALL, 1, &mut device, ptr::null_mut()) };
        check("clGetDeviceIDs", code)?;
        let mut code = 0;
        // SAFETY: one device that exists, no properties, no callback.
        let context =
            unsafe { (functions.clCreateContext)(ptr::null(), 1, &device, ptr::null(), ptr::null_mut(), &mut code) };
        check("clCreateContext", code)?;
        Ok(Pocl { functions, context, device, version })
    }

    pub fn queue(&self) -> Result<Queue<'_>> {
        let mut code = 0;
        // SAFETY: context and device live as long as the process.
        let handle = unsafe { (self.functions.clCreateCommandQueue)(self.context, self.device, 0, &mut code) };
        check("clCreateCommandQueue", code)?;
        Ok(Queue { pocl: self, handle })
    }

    /// Creates a buffer, on pages that have not been touched.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer<'_>> {
        let mut code = 0;
        // SAFETY: passes no host memory.
        let handle =
            unsafe { (self.functions.clCreateBuffer)(self.context, MEM_READ_WRITE, bytes, ptr::null_mut(), &mut code) };
        check("clCreateBuffer", code)?;
        Ok(Buffer { pocl: self, handle })
    }
}

fn find_platform(functions: &Functions) -> Result<Handle> {
    let mut platforms = [ptr::null_mut(); 16];
    let mut count = 0;
    // SAFETY: the array has room for 16 handles.
    let code = unsafe { (functions.clGetPlatformIDs)(16, platforms.as_mut_ptr(), &mut count) };
    if code != 0 || count == 0 {
        bail!("OpenCL reports no platforms");
    }
    let all = &platforms[..(count as usize).min(16)];
    let is_pocl = |platform: &Handle| {
        platform_text(functions, *platform, PLATFORM_NAME).is_ok_and(|name| name.contains("Portable"))
    };
    all.iter().copied().find(is_pocl).context("PoCL is not among the OpenCL platforms")
}

fn platform_text(functions: &Functions, platform: Handle, what: u32) -> Result<String> {
    let mut text = [0 as c_char; 256];
    // SAFETY: the array has room for 256 characters.
    let code = unsafe { (functions.clGetPlatformInfo)(platform, what, 256, text.as_mut_ptr().cast(), ptr::null_mut()) };
    check("clGetPlatformInfo", code)?;
    // SAFETY: the call has terminated the text with a zero.
    Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

/// Returns the version without the list of build options.
fn short(version: &str) -> String {
    let name = version.split_whitespace().skip_while(|word| *word != "PoCL").take(2).collect::<Vec<_>>();
    if name.len() == 2 { name.join(" ") } else { version.to_owned() }
}

pub struct Buffer<'a> {
    pocl: &'a Pocl,
    handle: Handle,
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this value, released once.
        unsafe { (self.pocl.functions.clReleaseMemObject)(self.handle) };
    }
}

/// An in-order queue.
pub struct Queue<'a> {
    pocl: &'a Pocl,
    handle: Handle,
}

/// Unblocks a blocked queue.
pub struct QueueGate<'a> {
    pocl: &'a Pocl,
    event: Handle,
}

impl QueueGate<'_> {
    pub fn open(self) -> Result<()> {
        // SAFETY: a live user event, whose status is set once.
        let code = unsafe { (self.pocl.functions.clSetUserEventStatus)(self.event, COMPLETE) };
        check("clSetUserEventStatus", code)?;
        // SAFETY: created by this value, released once.
        check("clReleaseEvent", unsafe { (self.pocl.functions.clReleaseEvent)(self.event) })
    }
}

impl<'a> Queue<'a> {
    /// Queues a copy to a buffer. The memory at `source` must stay valid until the queue is finished.
    pub fn write(&self, buffer: &Buffer, offset: usize, source: usize, bytes: usize) -> Result<()> {
        self.write_after(buffer, offset, source, bytes, &[])
    }

    fn write_after(&self, buffer: &Buffer, offset: usize, source: usize, bytes: usize, after: &[Handle]) -> Result<()> {
        let events = if after.is_empty() { ptr::null() } else { after.as_ptr() };
        // SAFETY: the caller owns the source; OpenCL checks the range in the buffer.
        let code = unsafe {
            (self.pocl.functions.clEnqueueWriteBuffer)(
                self.handle,
                buffer.handle,
                0,
                offset,
                bytes,
                source as *const c_void,
                after.len() as u32,
                events,
                ptr::null_mut(),
            )
        };
        check("clEnqueueWriteBuffer", code)
    }

    /// Queues a copy that does not start until the gate is opened, which blocks everything after it.
    pub fn block(&self, buffer: &Buffer, source: usize, bytes: usize) -> Result<QueueGate<'a>> {
        let mut code = 0;
        // SAFETY: the context lives as long as the process.
        let event = unsafe { (self.pocl.functions.clCreateUserEvent)(self.pocl.context, &mut code) };
        check("clCreateUserEvent", code)?;
        self.write_after(buffer, 0, source, bytes, &[event])?;
        Ok(QueueGate { pocl: self.pocl, event })
    }

    pub fn read(&self, buffer: &Buffer, target: usize, bytes: usize) -> Result<()> {
        let read = self.pocl.functions.clEnqueueReadBuffer;
        // SAFETY: the caller owns the target; OpenCL checks the range in the buffer.
        let code = unsafe {
            read(self.handle, buffer.handle, 0, 0, bytes, target as *mut c_void, 0, ptr::null(), ptr::null_mut())
        };
        check("clEnqueueReadBuffer", code)
    }

    /// Queues a copy from the start of one buffer to the start of another.
    pub fn copy(&self, target: &Buffer, source: &Buffer, bytes: usize) -> Result<()> {
        let copy = self.pocl.functions.clEnqueueCopyBuffer;
        // SAFETY: live buffers of this context; OpenCL checks the ranges in them.
        let code =
            unsafe { copy(self.handle, source.handle, target.handle, 0, 0, bytes, 0, ptr::null(), ptr::null_mut()) };
        check("clEnqueueCopyBuffer", code)
    }

    pub fn write_plane(&self, buffer: &Buffer, source: usize, pitch: usize, width: usize, rows: usize) -> Result<()> {
        let (origin, region) = ([0usize; 3], [width, rows, 1]);
        // SAFETY: the caller owns the source; OpenCL checks the range in the buffer.
        let code = unsafe {
            (self.pocl.functions.clEnqueueWriteBufferRect)(
                self.handle,
                buffer.handle,
                0,
                origin.as_ptr(),
                origin.as_ptr(),
                region.as_ptr(),
                pitch,
                0,
                pitch,
                0,
                source as *const c_void,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueWriteBufferRect", code)
    }

    pub fn flush(&self) -> Result<()> {
        // SAFETY: a live queue.
        check("clFlush", unsafe { (self.pocl.functions.clFlush)(self.handle) })
    }

    pub fn finish(&self) -> Result<()> {
        // SAFETY: a live queue.
        check("clFinish", unsafe { (self.pocl.functions.clFinish)(self.handle) })
    }
}

impl Drop for Queue<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this value, released once.
        unsafe { (self.pocl.functions.clReleaseCommandQueue)(self.handle) };
    }
}
