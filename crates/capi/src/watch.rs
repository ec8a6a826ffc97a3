//! The watch thread: answers who waits for whom (`softacl status`, SIGUSR1), and under the checker detects that the
//! program hangs, reports that (W1), and ends the process.
//!
//! It exists as long as the machine of the process. Without the checker it only waits for questions. SIGUSR1 and the
//! report of a crash are set up when a thread of the program first waits inside a call. Under the checker it looks at all
//! threads and streams from time to time while one of them waits; two looks are a proof (`softacl_checker::Look`).

use crate::{check, config, machine_cell};
use softacl_checker::{Checker, Look, take_picture};
use softacl_engine::{Machine, start_uncounted_thread};
use softacl_memory::mailbox::Mailbox;
use softacl_memory::without_size_signal;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Time between two looks. It doubles while the program waits for something that may still happen.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// How long the first call waits for the start of the thread. Usually that takes less than a tenth of a millisecond.
const MAX_START: Duration = Duration::from_millis(20);

/// Set when the thread is started, or could not be.
static IS_STARTED: AtomicBool = AtomicBool::new(false);
/// Set when a thread first waited.
static IS_ARMED: AtomicBool = AtomicBool::new(false);
/// Where questions arrive. Also what the thread waits for.
static MAILBOX: OnceLock<Mailbox> = OnceLock::new();
/// Set while nothing waits and the thread looks at nothing.
static IS_IDLE: AtomicBool = AtomicBool::new(false);
/// Set if a signal asked for the picture.
static IS_PRINT_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Called when a thread of the program waits inside a call or runs a host function.
pub(crate) fn wake() {
    if IS_IDLE.load(Ordering::Relaxed) && IS_IDLE.swap(false, Ordering::AcqRel) {
        nudge();
    }
    if !IS_ARMED.load(Ordering::Relaxed) && !IS_ARMED.swap(true, Ordering::AcqRel) {
        arm();
    }
}

/// Starts the thread, once. Called when the process has its machine.
#[cold]
pub(crate) fn start() {
    if IS_STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    // If the system refuses the file or the thread, no process can ask and hangs are not detected. The program must not
    // notice.
    let Ok(mailbox) = Mailbox::create() else { return };
    // Without the thread, no answer would come, so the file is closed again.
    let (sender, receiver) = channel::<&'static Mailbox>();
    let (runs, is_running) = channel::<()>();
    let wait_and_run = move || {
        receiver.iter().for_each(|mailbox| {
            let _ = runs.send(());
            run(mailbox);
        });
    };
    if start_uncounted_thread("softacl-watch".to_owned(), wait_and_run).is_ok() {
        let _ = sender.send(MAILBOX.get_or_init(|| mailbox));
        // A thread needs memory while it starts, and the C library ends the process if there is none. A program that limits
        // its memory after the first call does so after this. The wait is bounded, because the start of a thread may need
        // the lock of the loader, which is held here if a constructor of a library makes the first call.
        let _ = is_running.recv_timeout(MAX_START);
    }
}

#[cold]
fn arm() {
    if MAILBOX.get().is_some() {
        check::arm_crash_report();
        install_handler();
    }
}

fn nudge() {
    if let Some(mailbox) = MAILBOX.get() {
        mailbox.nudge();
    }
}

/// Makes SIGUSR1 print the picture, unless the program or its parent has decided what it does.
fn install_handler() {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the query fills the action, and zeroes are a valid one; the handler has the signature that an action
    // without SA_SIGINFO requires.
    unsafe {
        libc::sigaction(libc::SIGUSR1, ptr::null(), action.as_mut_ptr());
        let action = action.assume_init_mut();
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(libc::SIGUSR1, action, ptr::null_mut());
        }
    }
}

extern "C" fn on_signal(_: libc::c_int) {
    IS_PRINT_REQUESTED.store(true, Ordering::Release);
    nudge();
}

fn run(mailbox: &Mailbox) {
    let Some(Ok(machine)) = machine_cell::get() else { return };
    let checker = check::checker();
    let mut watch = checker.map(|checker| Watch { checker, before: None, interval: MIN_INTERVAL });
    loop {
        let seen = mailbox.signal();
        answer(mailbox, machine, checker);
        match watch.as_mut().map(|watch| watch.look(machine)) {
            Some(Next::Look(interval)) => wait_until(mailbox, seen, Instant::now() + interval),
            Some(Next::Idle) => wait_for_waits(mailbox, machine, seen),
            Some(Next::Ended) => watch = None,
            None => mailbox.wait(seen, None),
        }
    }
}

/// Waits until a thread waits inside a call, or a process asks.
fn wait_for_waits(mailbox: &Mailbox, machine: &Machine, seen: u32) {
    IS_IDLE.store(true, Ordering::Release);
    // A thread that waits since before the store woke no thread.
    if !Look::take(machine).has_waits() {
        mailbox.wait(seen, None);
    }
    IS_IDLE.store(false, Ordering::Release);
}

/// Waits until the time of the next look, or until a process asks.
fn wait_until(mailbox: &Mailbox, seen: u32, until: Instant) {
    while let Some(left) = until.checked_duration_since(Instant::now())
        && mailbox.signal() == seen
    {
        mailbox.wait(seen, Some(left));
    }
}

/// Answers those who ask who waits for whom.
fn answer(mailbox: &Mailbox, machine: &Machine, checker: Option<&Checker>) {
    if mailbox.is_asked() {
        mailbox.answer(&serde_json::to_vec(&take_picture(machine, checker)).unwrap_or_default());
    }
    if IS_PRINT_REQUESTED.swap(false, Ordering::AcqRel) {
        let text = take_picture(machine, checker).text();
        // Ignores write errors: stderr may be closed, or a file that may not grow.
        let _ = without_size_signal(|| std::io::stderr().write_all(text.as_bytes()));
    }
}

/// The looks of the checker.
struct Watch {
    checker: &'static Checker,
    before: Option<(Look, Instant)>,
    interval: Duration,
}

/// Time of the next look.
enum Next {
    Look(Duration),
    /// When a thread waits again.
    Idle,
    /// Never: a hang was reported, and the process continues.
    Ended,
}

impl Watch {
    /// Looks at all threads and streams. Ends the process if it provably hangs.
    fn look(&mut self, machine: &Machine) -> Next {
        let now = Look::take(machine);
        if !now.has_waits() {
            (self.before, self.interval) = (None, MIN_INTERVAL);
            return Next::Idle;
        }
        match &self.before {
            // A question was answered in between: the looks are too close to each other.
            Some((_, when)) if when.elapsed() < MIN_INTERVAL => return Next::Look(MIN_INTERVAL),
            Some((before, _)) if before.proves_hang(&now) => {
                if self.checker.report_hang(&now) && config::ends_hangs() {
                    check::end_hang();
                }
                return Next::Ended;
            }
            Some(_) => self.interval = MAX_INTERVAL.min(self.interval * 2),
            None => {}
        }
        self.before = Some((now, Instant::now()));
        Next::Look(self.interval)
    }
}
