//! What a safe asynchronous copy costs more than the C call. Not a lesson: a measurement.
//!
//! The stream is held up while copies are queued, so that only submitting is measured: 512 copies a round, C and safe
//! rounds in turn, and the smallest time of many rounds. Build with `--release`.

use ascendcl::{Context, Device, DeviceBuffer, PinnedBuffer, Result, Stream, raw, sys};
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

const COPIES: usize = 512;
const ROUNDS: usize = 400;
const BYTES: usize = 4096;

type CopyAsync = unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, i32, sys::aclrtStream) -> sys::aclError;

unsafe extern "C" {
    /// The C function itself: that of the softacl which is part of this program.
    fn aclrtMemcpyAsync(
        target: *mut c_void,
        capacity: usize,
        source: *const c_void,
        count: usize,
        kind: i32,
        stream: sys::aclrtStream,
    ) -> sys::aclError;
}

fn main() -> Result<()> {
    assert_eq!(*raw::loaded()?, raw::Origin::Bundled, "the C side of the comparison is the bundled softacl");
    let context = Device::new(0)?.context()?;
    let mut bench = Bench::new(&context)?;
    let mut best = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        for (case, best) in best.iter_mut().enumerate() {
            *best = best.min(bench.round(case)?);
        }
    }
    let [c, upload, download, whole] = best;
    println!("{BYTES} bytes, {COPIES} copies a round, best of {ROUNDS} rounds, in ns per copy");
    println!("C, aclrtMemcpyAsync                        {c:7.1}");
    println!("safe, upload                               {upload:7.1}  {:+.1}", upload - c);
    println!("safe, download                             {download:7.1}  {:+.1}", download - c);
    println!("safe, upload, with the wait afterwards     {whole:7.1}  {:+.1}", whole - c);
    Ok(())
}

struct Bench {
    stream: Stream,
    device: DeviceBuffer<u8>,
    hosts: Vec<PinnedBuffer<u8>>,
    /// The same memory on the C side, and a stream of its own.
    c_stream: sys::aclrtStream,
    c_device: *mut c_void,
    c_host: *mut c_void,
}

impl Bench {
    fn new(context: &Context) -> Result<Bench> {
        let hosts = (0..COPIES).map(|_| context.pinned(BYTES)).collect::<Result<_>>()?;
        // SAFETY: the context is current after what was done before; nothing is freed before the program ends.
        let (c_stream, c_device, c_host) = unsafe {
            let memory = raw::aclrtMalloc(BYTES, sys::ACL_MEM_MALLOC_HUGE_FIRST)?;
            (raw::aclrtCreateStream()?, memory, raw::aclrtMallocHost(BYTES * COPIES)?)
        };
        Ok(Bench { stream: context.stream()?, device: context.zeros(BYTES)?, hosts, c_stream, c_device, c_host })
    }

    /// One round of a case, in nanoseconds per copy.
    fn round(&mut self, case: usize) -> Result<f64> {
        match case {
            0 => self.c(),
            1 => self.safe(|stream, device, host| stream.upload(host, device), false),
            2 => self.safe(|stream, device, host| stream.download(&*device, host), false),
            _ => self.safe(|stream, device, host| stream.upload(host, device), true),
        }
    }

    fn c(&self) -> Result<f64> {
        let gate = Gate::close_raw(self.c_stream)?;
        let copy: CopyAsync = black_box(aclrtMemcpyAsync);
        let start = Instant::now();
        for index in 0..COPIES {
            // SAFETY: both sides have room, and stay.
            unsafe {
                let source = self.c_host.byte_add(index * BYTES);
                let to_device = sys::ACL_MEMCPY_HOST_TO_DEVICE;
                let code = copy(self.c_device, BYTES, source.cast_const(), BYTES, to_device, self.c_stream);
                assert_eq!(code, 0);
            }
        }
        let took = start.elapsed();
        gate.open();
        // SAFETY: the stream stays.
        unsafe { raw::aclrtSynchronizeStream(self.c_stream) }?;
        Ok(took.as_nanos() as f64 / COPIES as f64)
    }

    fn safe(
        &mut self,
        submit: impl Fn(&Stream, &mut DeviceBuffer<u8>, PinnedBuffer<u8>) -> Result<ascendcl::Transfer<PinnedBuffer<u8>>>,
        with_wait: bool,
    ) -> Result<f64> {
        let mut transfers = Vec::with_capacity(COPIES);
        let gate = Gate::close(&self.stream)?;
        let start = Instant::now();
        for host in self.hosts.drain(..) {
            transfers.push(submit(&self.stream, &mut self.device, host)?);
        }
        let mut took = start.elapsed();
        gate.open();
        self.stream.synchronize()?;
        let start = Instant::now();
        for transfer in transfers {
            self.hosts.push(transfer.wait()?);
        }
        if with_wait {
            took += start.elapsed();
        }
        Ok(took.as_nanos() as f64 / COPIES as f64)
    }
}

/// Holds a stream up.
struct Gate(Sender<()>);

impl Gate {
    fn close(stream: &Stream) -> Result<Gate> {
        Gate::close_raw(stream.as_raw())
    }

    fn close_raw(stream: sys::aclrtStream) -> Result<Gate> {
        unsafe extern "C" fn wait(receiver: *mut c_void) {
            // SAFETY: made by `Box::into_raw` for this one call.
            let receiver = unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) };
            // It also goes on when the gate is gone.
            let _ = receiver.recv();
        }
        let (sender, receiver) = channel::<()>();
        let argument = ptr::from_mut(Box::leak(Box::new(receiver))).cast();
        // SAFETY: the function takes the receiver, once.
        unsafe { raw::aclrtLaunchHostFunc(stream, Some(wait), argument) }?;
        Ok(Gate(sender))
    }

    fn open(self) {
        // The stream waits for it.
        let _ = self.0.send(());
    }
}
