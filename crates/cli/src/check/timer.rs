//! `--timeout`: stops the processes of a program that takes too long, so that they report who waits for whom.

use super::processes::{in_directory, is_running};
use crate::signals;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long stopped processes may take to write their reports.
const REPORT_TIMEOUT: Duration = Duration::from_secs(6);
/// How often the end of the stopped processes is tested.
const INTERVAL: Duration = Duration::from_millis(20);

/// A limit on the time of a run.
pub struct Timer {
    stop: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Timer {
    /// Starts the time of a run whose reports go to `directory`.
    pub fn start(limit: Duration, directory: &Path) -> Timer {
        let (stop, stopped) = mpsc::channel();
        let directory = directory.to_owned();
        let run = move || {
            if stopped.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
                return false;
            }
            let mut all = in_directory(&directory);
            all.extend(signals::child());
            all.sort_unstable();
            all.dedup();
            send(&all, libc::SIGTERM);
            let until = Instant::now() + REPORT_TIMEOUT;
            while Instant::now() < until && all.iter().any(|process| is_running(*process)) {
                thread::park_timeout(INTERVAL);
            }
            send(&all, libc::SIGKILL);
            true
        };
        Timer { stop, thread: thread::spawn(run) }
    }

    /// Ends the time. Returns `true` if it had expired; the stopped processes have then ended.
    pub fn stop(self) -> bool {
        // The thread has ended if the time had expired.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or(false)
    }
}

/// Sends a signal to those that still run.
fn send(processes: &[u32], signal: i32) {
    for process in processes.iter().filter(|process| is_running(**process)) {
        // SAFETY: `kill` has no preconditions. The processes belong to the run: they wrote to its directory.
        unsafe { libc::kill(process.cast_signed(), signal) };
    }
}
