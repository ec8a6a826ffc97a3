//! A mailbox through which other processes of the same user ask this one a question: one request, one answer, in a
//! memory file that they find through `/proc`. Nothing listens, and nothing is left behind when the process ends.
//!
//! It is not subject to fault rules: whether a process may ask must not change what a rule counts.

use crate::region::{open_memory_file, without_size_signal};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const MAGIC: u64 = 0x736f_6674_6163_6c33;
/// Size of the file. Its pages are committed when they are written.
const LEN: usize = 256 << 10;
const NAME: &[u8] = b"/memfd:softacl-status";
/// Maximum length of an answer.
pub const MAX_ANSWER: usize = LEN - 64;

/// Contents of the file.
#[repr(C)]
struct Layout {
    magic: AtomicU64,
    /// Changes whenever the owner has something to do. Both sides wait for it with a futex.
    signal: AtomicU32,
    requested: AtomicU32,
    answered: AtomicU32,
    len: AtomicU32,
    bytes: [AtomicU8; MAX_ANSWER],
}

const _: () = assert!(size_of::<Layout>() <= LEN);

/// The mailbox of this process or of another one.
#[derive(Debug)]
pub struct Mailbox {
    address: usize,
    _file: File,
}

impl Mailbox {
    /// Creates the mailbox of this process.
    pub fn create() -> io::Result<Mailbox> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a C string, and a new descriptor has no other owner.
        let file = unsafe {
            match libc::memfd_create(c"softacl-status".as_ptr(), flags) {
                -1 => return Err(io::Error::last_os_error()),
                descriptor => File::from_raw_fd(descriptor),
            }
        };
        without_size_signal(|| file.set_len(LEN as u64))?;
        // SAFETY: the descriptor is open, and neither call takes a pointer.
        let is_sealed = unsafe {
            libc::fchmod(file.as_raw_fd(), 0o600) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) == 0
        };
        if !is_sealed {
            return Err(io::Error::last_os_error());
        }
        let mailbox = Mailbox { address: map(&file)?, _file: file };
        mailbox.layout().magic.store(MAGIC, Ordering::Release);
        Ok(mailbox)
    }

    /// Opens the mailbox of a process of the same user. `None` if it has none.
    pub fn find(process: u32) -> Option<Mailbox> {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        entries.flatten().map(|entry| entry.path()).find_map(|path| {
            let is_mailbox = fs::read_link(&path).is_ok_and(|target| target.as_os_str().as_bytes().starts_with(NAME));
            let descriptor = path.file_name()?.to_str()?.parse().ok().filter(|_| is_mailbox)?;
            let file = open_memory_file(process, descriptor).ok()?;
            if file.metadata().ok()?.len() != LEN as u64 {
                return None;
            }
            let mailbox = Mailbox { address: map(&file).ok()?, _file: file };
            (mailbox.layout().magic.load(Ordering::Acquire) == MAGIC).then_some(mailbox)
        })
    }

    /// The processes of this user that have a mailbox, in ascending order.
    pub fn processes() -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()));
        let mut found: Vec<u32> = numbers.filter(|process| Mailbox::find(*process).is_some()).collect();
        found.sort_unstable();
        found
    }

    /// Asks the owner and waits for its answer. `None` if there is none in time.
    pub fn ask(&self, timeout: Duration) -> Option<Vec<u8>> {
        let layout = self.layout();
        let until = Instant::now() + timeout;
        let request = layout.requested.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        self.nudge();
        loop {
            let answered = layout.answered.load(Ordering::Acquire);
            if answered.wrapping_sub(request).cast_signed() >= 0 {
                let len = (layout.len.load(Ordering::Acquire) as usize).min(MAX_ANSWER);
                let answer = layout.bytes[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
                // Another request may have been answered in between: then the bytes are a mixture.
                if layout.answered.load(Ordering::Acquire) == answered {
                    return Some(answer);
                }
                continue;
            }
            let left = until.checked_duration_since(Instant::now())?;
            wait(&layout.answered, answered, Some(left));
        }
    }

    /// Number of the latest signal, for `wait`.
    pub fn signal(&self) -> u32 {
        self.layout().signal.load(Ordering::Acquire)
    }

    /// Lets the owner look for work. Async-signal-safe.
    pub fn nudge(&self) {
        self.layout().signal.fetch_add(1, Ordering::AcqRel);
        wake(&self.layout().signal);
    }

    /// Waits until the signal is no longer `seen`, or until the timeout. May return early.
    pub fn wait(&self, seen: u32, timeout: Option<Duration>) {
        wait(&self.layout().signal, seen, timeout);
    }

    /// True if a request was not answered.
    pub fn is_asked(&self) -> bool {
        self.layout().requested.load(Ordering::Acquire) != self.layout().answered.load(Ordering::Acquire)
    }

    /// Answers all requests so far. A longer answer than `MAX_ANSWER` becomes an empty one.
    pub fn answer(&self, answer: &[u8]) {
        let layout = self.layout();
        let requested = layout.requested.load(Ordering::Acquire);
        let answer = if answer.len() > MAX_ANSWER { &[] } else { answer };
        for (cell, byte) in layout.bytes.iter().zip(answer) {
            cell.store(*byte, Ordering::Relaxed);
        }
        layout.len.store(answer.len() as u32, Ordering::Release);
        layout.answered.store(requested, Ordering::Release);
        wake(&layout.answered);
    }

    fn layout(&self) -> &Layout {
        // SAFETY: `map` returned a mapping of `LEN` bytes, which `Layout` fits (asserted above) and which is unmapped
        // only in `drop`. All fields are atomic, for which all bit patterns are valid.
        unsafe { &*(self.address as *const Layout) }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` returned. No reference from `layout` outlives `self`.
        unsafe { libc::munmap(self.address as *mut _, LEN) };
    }
}

/// Maps the whole file. Returns the address.
fn map(file: &File) -> io::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
    let address = unsafe { libc::mmap(ptr::null_mut(), LEN, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as usize) }
}

fn wait(word: &AtomicU32, seen: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word and the timeout live for the whole call. The callers handle early returns.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, timeout) };
}

fn wake(word: &AtomicU32) {
    // SAFETY: the word lives for the whole call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, libc::c_int::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_answered_through_the_file() {
        let ours = Mailbox::create().unwrap();
        let us = std::process::id();
        assert!(Mailbox::processes().contains(&us));
        let theirs = Mailbox::find(us).expect("found through /proc");
        assert_eq!(theirs.ask(Duration::from_millis(1)), None, "no process answers");
        assert!(ours.is_asked());
        let answering = std::thread::spawn(move || {
            let mut answers = 0;
            while answers < 2 {
                let seen = ours.signal();
                if ours.is_asked() {
                    answers += 1;
                    ours.answer(format!("answer {answers}").as_bytes());
                }
                ours.wait(seen, Some(Duration::from_millis(10)));
            }
            ours.answer(&vec![0; MAX_ANSWER + 1]);
        });
        // The first answer is for the request that timed out, if it was answered in time.
        let answer = theirs.ask(Duration::from_secs(20)).expect("an answer");
        assert!(answer.starts_with(b"answer "), "{answer:?}");
        if answer == b"answer 1" {
            assert_eq!(theirs.ask(Duration::from_secs(20)).expect("an answer"), b"answer 2");
        }
        answering.join().unwrap();
    }
}
