//! Measures the overhead of a safe asynchronous copy over the C call. A benchmark, not a tutorial.
//!
//! The stream is blocked while copies are queued, so that only submitting is measured: rounds of 512 copies,
//! alternately with C calls and safe calls, and the smallest time of all rounds. Build with `--release`.

use ascendcl::{Context, Device, DeviceBuffer, PinnedBuffer, Result, Stream, Transfer, raw, sys};
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

const COPIES: usize = 512;
const ROUNDS: usize = 400;
const BYTES: usize = 4096;

/// The measured cases. Each safe call follows the C call with which it is compared.
const CASES: [&str; 7] = [
    "C, aclrtMemcpyAsync to the device",
    "safe, upload",
    "safe, upload, with the wait afterwards",
    "C, aclrtMemcpyAsync to the host",
    "safe, download",
    "C, aclrtMemcpyAsync on the device",
    "safe, copy",
];

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut bench = Bench::new(&context)?;
    let mut best = [f64::INFINITY; CASES.len()];
    for _ in 0..ROUNDS {
        for (case, best) in best.iter_mut().enumerate() {
            *best = best.min(bench.round(case)?);
        }
    }
    println!("{BYTES} bytes, {COPIES} copies per round, best of {ROUNDS} rounds, in ns per copy");
    let mut c = 0.0;
    for (name, best) in CASES.iter().zip(best) {
        if name.starts_with('C') {
            c = best;
            println!("{name:40} {best:7.1}");
        } else {
            println!("{name:40} {best:7.1}  {:+.1}", best - c);
        }
    }
    Ok(())
}

struct Bench {
    stream: Stream,
    device: DeviceBuffer<u8>,
    other: DeviceBuffer<u8>,
    hosts: Vec<PinnedBuffer<u8>>,
    /// Stream and buffers of the C calls, as many as for the safe calls.
    c_stream: sys::aclrtStream,
    c_device: *mut c_void,
    c_other: *mut c_void,
    c_hosts: Vec<*mut c_void>,
}

impl Bench {
    fn new(context: &Context) -> Result<Bench> {
        let hosts = (0..COPIES).map(|_| context.alloc_pinned(BYTES)).collect::<Result<_>>()?;
        // SAFETY: `alloc_pinned` has made the context current. The memory is not freed before the program exits.
        let (c_stream, c_device, c_other, c_hosts) = unsafe {
            let memory = || raw::aclrtMalloc(BYTES, sys::ACL_MEM_MALLOC_HUGE_FIRST);
            let hosts = (0..COPIES).map(|_| raw::aclrtMallocHost(BYTES)).collect::<Result<_>>()?;
            (raw::aclrtCreateStream()?, memory()?, memory()?, hosts)
        };
        let (device, other) = (context.alloc_zeros(BYTES)?, context.alloc_zeros(BYTES)?);
        Ok(Bench { stream: context.new_stream()?, device, other, hosts, c_stream, c_device, c_other, c_hosts })
    }

    /// Runs one round of a case. Returns nanoseconds per copy.
    fn round(&mut self, case: usize) -> Result<f64> {
        match case {
            0 => self.c(sys::ACL_MEMCPY_HOST_TO_DEVICE, |bench, host| (bench.c_device, host)),
            1 => self.safe(|stream, device, host| stream.upload(host, device), false),
            2 => self.safe(|stream, device, host| stream.upload(host, device), true),
            3 => self.c(sys::ACL_MEMCPY_DEVICE_TO_HOST, |bench, host| (host, bench.c_device)),
            4 => self.safe(|stream, device, host| stream.download(&*device, host), false),
            5 => self.c(sys::ACL_MEMCPY_DEVICE_TO_DEVICE, |bench, _| (bench.c_other, bench.c_device)),
            _ => self.safe_copy(),
        }
    }

    fn c(&self, kind: i32, sides: impl Fn(&Bench, *mut c_void) -> (*mut c_void, *mut c_void)) -> Result<f64> {
        let gate = Gate::close_raw(self.c_stream)?;
        let copy = black_box(raw::functions()?.aclrtMemcpyAsync().expect("the library exports aclrtMemcpyAsync"));
        let start = Instant::now();
        for host in &self.c_hosts {
            let (target, source) = sides(self, *host);
            // SAFETY: both sides have `BYTES` bytes and are not freed.
            let code = unsafe { copy(target, BYTES, source.cast_const(), BYTES, kind, self.c_stream) };
            assert_eq!(code, 0);
        }
        let elapsed = start.elapsed();
        gate.open();
        // SAFETY: the stream is not destroyed.
        unsafe { raw::aclrtSynchronizeStream(self.c_stream) }?;
        Ok(elapsed.as_nanos() as f64 / COPIES as f64)
    }

    fn safe(
        &mut self,
        submit: impl Fn(&Stream, &mut DeviceBuffer<u8>, PinnedBuffer<u8>) -> Result<Transfer<PinnedBuffer<u8>>>,
        with_wait: bool,
    ) -> Result<f64> {
        let mut transfers = Vec::with_capacity(COPIES);
        let gate = Gate::close(&self.stream)?;
        let start = Instant::now();
        for host in self.hosts.drain(..) {
            transfers.push(submit(&self.stream, &mut self.device, host)?);
        }
        let mut elapsed = start.elapsed();
        gate.open();
        self.stream.synchronize()?;
        let start = Instant::now();
        for transfer in transfers {
            self.hosts.push(transfer.wait()?);
        }
        if with_wait {
            elapsed += start.elapsed();
        }
        Ok(elapsed.as_nanos() as f64 / COPIES as f64)
    }

    fn safe_copy(&mut self) -> Result<f64> {
        let gate = Gate::close(&self.stream)?;
        let start = Instant::now();
        for _ in 0..COPIES {
            self.stream.copy(&self.device, &mut self.other)?;
        }
        let elapsed = start.elapsed();
        gate.open();
        self.stream.synchronize()?;
        Ok(elapsed.as_nanos() as f64 / COPIES as f64)
    }
}

/// Blocks a stream until it is opened or dropped.
struct Gate(Sender<()>);

impl Gate {
    fn close(stream: &Stream) -> Result<Gate> {
        Gate::close_raw(stream.as_raw())
    }

    fn close_raw(stream: sys::aclrtStream) -> Result<Gate> {
        unsafe extern "C" fn wait(receiver: *mut c_void) {
            // SAFETY: the argument is a leaked box, and the function is called once.
            let receiver = unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) };
            // Returns also if the gate was dropped.
            let _ = receiver.recv();
        }
        let (sender, receiver) = channel::<()>();
        let argument = ptr::from_mut(Box::leak(Box::new(receiver))).cast();
        // SAFETY: the function takes ownership of the receiver and is called once.
        unsafe { raw::aclrtLaunchHostFunc(stream, Some(wait), argument) }?;
        Ok(Gate(sender))
    }

    fn open(self) {
        // The receiver exists until it receives the message.
        let _ = self.0.send(());
    }
}
