//! Threads of the engine: named, and deaf to the signals of the program.
//!
//! A program that waits for SIGTERM with `sigwait` must not find it delivered to one of ours. Faults
//! stay open: they are ours to handle.

use softacl_faults::Resource;
use softacl_faults::system;
use softacl_sync::facade::{AtomicUsize, Mutex, Ordering, lock, thread};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Threads that are started when they are first needed. As long as the system refuses them all, it is
/// asked again every time.
#[derive(Default)]
pub(crate) struct LazyThreads {
    running: AtomicUsize,
    /// Whether a refusal was told.
    refusal_reported: Mutex<bool>,
}

impl LazyThreads {
    /// Starts `count` threads, unless there are some. `start` starts the one with a number. `false`: there is
    /// none.
    #[inline]
    pub(crate) fn ensure_started(&self, count: usize, start: impl Fn(usize) -> io::Result<()>) -> bool {
        !self.is_empty() || self.start(count, start)
    }

    /// Whether there is no thread: who waits does the work.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.running.load(Ordering::Acquire) == 0
    }

    #[cold]
    fn start(&self, count: usize, start: impl Fn(usize) -> io::Result<()>) -> bool {
        let mut refusal_reported = lock(&self.refusal_reported);
        if !self.is_empty() {
            return true;
        }
        let mut running = 0;
        for number in 0..count {
            match start(number) {
                Ok(()) => running += 1,
                Err(error) if !*refusal_reported => {
                    *refusal_reported = true;
                    eprintln!("softacl: the system refused a thread ({error}); the threads that wait do its work");
                }
                Err(_) => {}
            }
        }
        self.running.store(running, Ordering::Release);
        running > 0
    }
}

/// Starts a thread that receives no signal but faults.
pub fn start(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    system::check_allowed(Resource::Thread, 1)?;
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // The new thread inherits the mask; ours is restored right after.
    // SAFETY: the set is made and filled here, and the calls only read and write these two sets.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let started = thread::Builder::new().name(name).spawn(run);
    // SAFETY: `before` was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    started.map(|_| ())
}

/// This thread, once woken, waits for its turn instead of taking the processor from whoever woke it.
/// On a machine with one core each copy that is queued would else be a change of threads.
pub(crate) fn yield_to_others() {
    // SAFETY: zeroes are valid parameters; the call concerns this thread only. Where it is refused the
    // thread runs as before.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &std::mem::zeroed()) };
}
