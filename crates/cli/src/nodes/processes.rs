//! The processes of nodes: their output, their ends, and how a signal or a failure ends the others.
//!
//! Every process leads a process group, so that what it has started ends with it. A process that has ended is waited for
//! only after its group was ended, because its id must not belong to another process until then.

use super::cluster::Place;
use crate::output;
use anyhow::{Context as _, Result};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{mem, ptr, thread};

/// Signals that end the cluster.
const STOPPING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// How long the output of processes that have ended is awaited: a process that left its group may keep it open.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// What the threads of the launcher report.
enum Event {
    Ended { index: usize, code: u8 },
    OutputEnded,
    Signal(libc::c_int),
}

/// The running processes.
pub struct Processes {
    all: Vec<(Place, Child)>,
    /// Exit codes of those that have ended.
    codes: Vec<Option<u8>>,
    open_outputs: usize,
    sender: Sender<Event>,
    events: Receiver<Event>,
    /// The signals that were blocked before.
    blocked: libc::sigset_t,
}

impl Processes {
    /// Begins to receive signals. They are blocked for this thread and those that it starts, not for programs.
    pub fn new() -> Processes {
        let (sender, events) = channel();
        // SAFETY: the set is initialized before use.
        let (set, blocked) = unsafe {
            let (mut set, mut blocked): (libc::sigset_t, libc::sigset_t) = (mem::zeroed(), mem::zeroed());
            libc::sigemptyset(&mut set);
            for signal in STOPPING {
                libc::sigaddset(&mut set, signal);
            }
            // The parent may have left SIGCHLD ignored; children could then not be waited for.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut blocked);
            (set, blocked)
        };
        let own = sender.clone();
        thread::spawn(move || {
            let mut signal = 0;
            // SAFETY: the set and the result live during the call.
            while unsafe { libc::sigwait(&set, &mut signal) } == 0 && own.send(Event::Signal(signal)).is_ok() {}
        });
        Processes { all: Vec::new(), codes: Vec::new(), open_outputs: 0, sender, events, blocked }
    }

    /// Starts a process, whose output goes to a file of the directory, or with its label to that of this process.
    pub fn start(&mut self, place: Place, mut command: Command, directory: Option<&Path>) -> Result<()> {
        command.stdin(Stdio::null()).process_group(0);
        match directory {
            Some(directory) => {
                let file = output::open(&directory.join(place.file()))?;
                command.stdout(file.try_clone()?).stderr(file);
            }
            None => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
        }
        let (launcher, blocked) = (std::process::id(), self.blocked);
        // SAFETY: the function makes system calls only.
        unsafe {
            command.pre_exec(move || {
                libc::sigprocmask(libc::SIG_SETMASK, &blocked, ptr::null_mut());
                // If the launcher is killed, so is its process.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                let is_alone = libc::getppid() as u32 != launcher;
                if is_alone { Err(io::Error::from(io::ErrorKind::NotFound)) } else { Ok(()) }
            });
        }
        let started = command.spawn();
        let mut child = started.with_context(|| format!("could not run {}", command.get_program().display()))?;
        let label = place.label();
        if let Some(pipe) = child.stdout.take() {
            self.forward(pipe, label.clone(), || Box::new(io::stdout().lock()));
        }
        if let Some(pipe) = child.stderr.take() {
            self.forward(pipe, label, || Box::new(io::stderr().lock()));
        }
        let (index, id, sender) = (self.all.len(), child.id(), self.sender.clone());
        thread::spawn(move || sender.send(Event::Ended { index, code: wait(id) }));
        self.all.push((place, child));
        self.codes.push(None);
        Ok(())
    }

    /// Copies output line by line, each behind the label.
    fn forward(&mut self, pipe: impl Read + Send + 'static, label: String, target: fn() -> Box<dyn Write>) {
        self.open_outputs += 1;
        let sender = self.sender.clone();
        thread::spawn(move || {
            let (mut reader, mut line) = (BufReader::new(pipe), Vec::new());
            while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let text = line.strip_suffix(b"\n").unwrap_or(&line);
                // As one write, so that lines of other processes do not come between. A closed target stops nothing.
                let _ = target().write_all(&[label.as_bytes(), b" | ", text, b"\n"].concat());
                line.clear();
            }
            sender.send(Event::OutputEnded)
        });
    }

    /// Waits until all processes have ended. When one fails, or a signal comes, the others have `grace` to end. Returns the
    /// exit code: of the first failure, or of the signal.
    pub fn wait(&mut self, grace: Duration) -> u8 {
        let mut result = 0;
        // When the next, harder signal is sent.
        let mut deadline: Option<(Instant, libc::c_int)> = None;
        while self.codes.iter().any(Option::is_none) {
            let event = match deadline {
                Some((at, signal)) => match self.events.recv_timeout(at.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => {
                        self.signal(signal);
                        deadline = (signal != libc::SIGKILL).then(|| (Instant::now() + grace, libc::SIGKILL));
                        continue;
                    }
                    other => other.ok(),
                },
                None => self.events.recv().ok(),
            };
            match event {
                Some(Event::Ended { index, code }) => {
                    self.codes[index] = Some(code);
                    self.end_group(index);
                    if code != 0 && result == 0 {
                        result = code;
                        self.explain(index, code, grace);
                        deadline = deadline.or(Some((Instant::now() + grace, libc::SIGTERM)));
                    }
                }
                Some(Event::OutputEnded) => self.open_outputs -= 1,
                Some(Event::Signal(signal)) => {
                    // The second one does not wait.
                    let is_second = matches!(deadline, Some((_, libc::SIGKILL)));
                    self.signal(if is_second { libc::SIGKILL } else { signal });
                    deadline = Some((Instant::now() + grace, libc::SIGKILL));
                    result = if result == 0 { 128 + signal as u8 } else { result };
                }
                None => break,
            }
        }
        self.finish();
        result
    }

    fn explain(&self, index: usize, code: u8, grace: Duration) {
        if self.codes.iter().any(Option::is_none) {
            let label = self.all[index].0.label();
            output::eprint_line(format_args!(
                "softacl: {label} ended with {code}; the others are stopped in {} s (--grace)",
                grace.as_secs()
            ));
        }
    }

    /// Sends a signal to all processes that have not ended, and to those that they have started.
    fn signal(&self, signal: libc::c_int) {
        for ((_, child), code) in self.all.iter().zip(&self.codes) {
            if code.is_none() {
                // SAFETY: no pointers; the process is not reaped, so its id is not that of another group.
                unsafe { libc::kill(-child.id().cast_signed(), signal) };
            }
        }
    }

    /// Ends what a process that has ended left behind.
    fn end_group(&self, index: usize) {
        // SAFETY: as in `signal`.
        unsafe { libc::kill(-self.all[index].1.id().cast_signed(), libc::SIGKILL) };
    }

    /// Waits for the rest of the output, and reaps the processes.
    fn finish(&mut self) {
        let deadline = Instant::now() + OUTPUT_GRACE;
        while self.open_outputs > 0 {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::OutputEnded) => self.open_outputs -= 1,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        for (_, child) in &mut self.all {
            let _ = child.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Only after an error: otherwise all have ended.
        self.signal(libc::SIGKILL);
    }
}

/// Waits for the end of a process without reaping it. Returns its exit code, as shells count them.
fn wait(process: u32) -> u8 {
    loop {
        // SAFETY: the structure is written by the call before it is read.
        let (result, how, status) = unsafe {
            let mut info: libc::siginfo_t = mem::zeroed();
            let result = libc::waitid(libc::P_PID, process, &mut info, libc::WEXITED | libc::WNOWAIT);
            (result, info.si_code, info.si_status())
        };
        if result == 0 {
            return if how == libc::CLD_EXITED { status as u8 } else { 128 + status as u8 };
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return 1;
        }
    }
}

/// Makes the directory for output files.
pub fn make_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("--output: could not create {}", path.display()))?;
    File::open(path).with_context(|| format!("--output: {}", path.display())).map(drop)
}
