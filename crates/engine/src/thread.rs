//! Engine threads: named, with all signals blocked except synchronous faults.
//!
//! A program that waits for SIGTERM with `sigwait` must not have it delivered to an engine thread. Faults stay
//! unblocked because the engine handles them.

use softacl_faults::Resource;
use softacl_faults::system;
use softacl_sync::facade::{AtomicUsize, Mutex, Ordering, lock, thread};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Engine threads that are spawned on first use. While the system refuses all of them, every use tries again.
#[derive(Default)]
pub(crate) struct LazyThreads {
    running: AtomicUsize,
    /// Set after the first refusal was printed.
    refusal_reported: Mutex<bool>,
}

impl LazyThreads {
    /// Starts `count` threads unless some are running. `start` receives the index of the thread. Returns `false` if no
    /// thread is running.
    #[inline]
    pub(crate) fn ensure_started(&self, count: usize, start: impl Fn(usize) -> io::Result<()>) -> bool {
        !self.is_empty() || self.start(count, start)
    }

    /// True if no thread is running, so that waiting threads must do the work.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.running.load(Ordering::Acquire) == 0
    }

    /// Starts the threads. Prints the first refusal.
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
                    eprintln!("softacl: the system refused a thread ({error}); waiting threads do its work");
                }
                Err(_) => {}
            }
        }
        self.running.store(running, Ordering::Release);
        running > 0
    }
}

/// Starts a thread that receives no signals except synchronous faults.
pub fn start(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    system::check_allowed(Resource::Thread, 1)?;
    start_uncounted(name, run)
}

/// Starts such a thread, but asks no fault rule: for a thread beside the work of the program, which must not change what
/// a rule counts.
pub fn start_uncounted(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // The new thread inherits the signal mask; the mask of this thread is restored right after.
    // SAFETY: `all` is initialized by `sigfillset`, and the calls access only the two local sets.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let started = thread::Builder::new().name(name).spawn(run);
    // SAFETY: `before` was initialized by the `pthread_sigmask` call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    started.map(|_| ())
}

/// Lets this thread wait for its turn when it is woken, instead of preempting the thread that woke it. On a single-core
/// machine every queued copy would otherwise cause a context switch.
pub(crate) fn yield_to_others() {
    // SAFETY: all-zero parameters are valid, and the call affects this thread only. If it is refused, the thread keeps
    // its scheduling policy.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &std::mem::zeroed()) };
}
