//! Buffers of the program in device memory.

use crate::failure::Failure;
use crate::runtime::{Range, runtime};
use std::ffi::c_void;

/// A buffer of the program: its range for the runtime, and the address through which it is accessed.
pub struct Buffer {
    pub range: Range,
    pub view: usize,
}

impl Buffer {
    pub fn new(pointer: *const c_void, len: usize, access: u32, name: &str) -> Result<Buffer, Failure> {
        let pointer = pointer.cast_mut();
        let view = runtime()?.view(pointer, len, name)?;
        Ok(Buffer { range: Range { pointer, size: len, access }, view })
    }
}
