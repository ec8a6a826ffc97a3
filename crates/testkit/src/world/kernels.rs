//! Kernels, on the machine and on the model: one that adds the bytes of a range to those of another.

use super::outcome::{Failure, ok};
use super::state::{BufferKind, BufferRange, PendingTask, World};
use crate::faults::TaskKind;
use crate::memory;
use softacl_engine::observer::{Mode, Touch};
use softacl_engine::{KernelCode, KernelRequest};
use std::ffi::c_void;

/// Accesses of the kernel to each byte pair: two reads and a write. Fault rules count the bytes of all.
pub(super) const KERNEL_ACCESSES: usize = 3;

/// The argument of the kernel: views of its two ranges.
struct Addition {
    to: usize,
    from: usize,
    len: usize,
}

unsafe extern "C" fn add(argument: *mut c_void) -> i32 {
    // SAFETY: an `Addition`, which lives until `release`.
    let Addition { to, from, len } = unsafe { &*argument.cast::<Addition>() };
    for offset in 0..*len {
        let (to, from) = ((to + offset) as *mut u8, (from + offset) as *const u8);
        // SAFETY: memory of the world, ordered against everything else that touches it. It outlives the task also if
        // the program has freed it.
        unsafe { to.write(to.read().wrapping_add(from.read())) };
    }
    0
}

unsafe extern "C" fn release(argument: *mut c_void) {
    // SAFETY: created by `Box::into_raw` in `kernel_request`, released once.
    drop(unsafe { Box::from_raw(argument.cast::<Addition>()) });
}

impl World<'_> {
    pub(super) fn kernel(&mut self, target: u32, source: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let sources = [BufferKind::Device, BufferKind::Pinned];
        let to = self.buffer(target, &[BufferKind::Device]);
        let pair = self.pair(to, self.buffer(source, &sources), at, len, 1);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = self.kernel_request(&to, &from)?;
        let parts = [(&to, true), (&from, false)];
        let size = KERNEL_ACCESSES * to.range.len();
        let pending =
            PendingTask { function: "softaclLaunchKernel", kind: TaskKind::Kernel, size, stream, parts: &parts };
        if self.submit(&pending, |caller, stream| caller.launch_kernel(request, stream))? {
            self.model_kernel(&to, &from);
        }
        Ok(())
    }

    pub(super) fn kernel_request(&self, to: &BufferRange, from: &BufferRange) -> Result<KernelRequest, Failure> {
        let (target, source, len) = (self.address(to), self.address(from), to.range.len());
        let machine = self.caller.machine();
        let addition =
            Addition { to: ok(machine.host_view(target, len))?, from: ok(machine.host_view(source, len))?, len };
        let argument = Box::into_raw(Box::new(addition)).cast();
        Ok(KernelRequest {
            name: "add".into(),
            // SAFETY: `add` only touches memory of the world, and `release` frees what was boxed here.
            code: unsafe { KernelCode::new(add, argument, Some(release)) },
            ranges: [(target, Mode::Read), (target, Mode::Write), (source, Mode::Read)]
                .into_iter()
                .map(|(address, mode)| Touch { address, len, mode })
                .collect(),
        })
    }

    /// Applies the kernel to the model.
    pub(super) fn model_kernel(&mut self, to: &BufferRange, from: &BufferRange) {
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::add(&mut self.buffers[to.buffer].model, to.range.start, &bytes);
    }
}
