//! Launching kernels: the request of a program, and its checks. What a kernel is as a task is in `task::kernel`.

use crate::caller::Caller;
use crate::task::kernel::{Kernel, KernelCode, Ranges};
use crate::task::moves::Move;
use softacl_errors::Result;
use softacl_memory::MemoryKind;
use std::sync::Arc;

/// A kernel to launch, as the program passes it.
pub struct KernelRequest {
    /// Name for messages, findings and timelines.
    pub name: Arc<str>,
    pub code: KernelCode,
    /// What the code reads and writes, as program addresses. Empty ranges are ignored.
    pub ranges: Ranges,
}

impl Caller<'_> {
    /// Queues a kernel on a stream of the current context. Every range must lie in one live allocation of the stream's
    /// device, of a device that it may access, or in host memory.
    pub fn launch_kernel(&self, request: KernelRequest, stream: usize) -> Result<()> {
        let at = self.own_submission(self.explicit_stream(stream)?)?;
        let KernelRequest { name, code, mut ranges } = request;
        ranges.retain(|range| range.len > 0);
        let finder = self.machine.memory.finder();
        for range in &mut ranges {
            let resolved = finder.find("kernel", range.address)?;
            resolved.covers("kernel", range.len)?;
            match resolved.place {
                MemoryKind::Device(device) if device != at.stream.device() => {
                    self.machine.check_peers(at.stream.device(), device)?;
                }
                _ => {}
            }
            range.address = resolved.reach;
        }
        let kernel = Kernel { name, code, ranges };
        self.machine.submit(at.key, at.stream, at.context, Move::Kernel(Arc::new(kernel))).map(|_| ())
    }
}
