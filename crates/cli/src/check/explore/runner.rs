//! The runner: runs the program once in an order, and returns what happened.
//!
//! Each worker thread has a separate runner with separate files.

use super::trace::{End, Trace};
use crate::check::arguments::Arguments;
use crate::check::collect::{self, PREFIX};
use crate::check::interposer;
use crate::{output, signals};
use anyhow::{Context, Result};
use softacl_checker::finding::Report;
use softacl_engine::order::Order;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often a wait for a run looks whether a stop was requested.
const STOP_CHECK: Duration = Duration::from_millis(200);

/// Runs the program.
pub struct Runner {
    directory: TempDir,
    command: Command,
    pub compares_output: bool,
}

/// What happened in one run.
pub struct Run {
    pub trace: Trace,
    /// `None` if the program has succeeded, or was not run to its end.
    pub failure: Option<Failure>,
    pub exit_code: i32,
    /// Without source locations, unless the order is narrated.
    pub reports: Vec<Report>,
    /// Reports with source locations, if they were needed.
    pub full: Vec<Report>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub duration: Duration,
}

/// How the program has failed, whatever the checker found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    Code(i32),
    Signal(i32),
    /// It did not end.
    Hang,
    /// Its standard output differs from that of the first run.
    Output,
}

impl Failure {
    pub fn text(self) -> String {
        match self {
            Failure::Code(code) => format!("exit code {code}"),
            Failure::Signal(signal) => format!("signal {signal}{}", collect::name(signal)),
            Failure::Hang => "the program does not end".to_owned(),
            Failure::Output => "the standard output differs from that of the first run".to_owned(),
        }
    }
}

impl Runner {
    pub fn new(arguments: &Arguments) -> Result<Runner> {
        let directory = output::directory(PREFIX)?;
        let mut command = arguments.machine.command()?;
        let file = |name: &str| directory.path().join(name);
        for name in ["reports", "logs"] {
            fs::create_dir(file(name)).context("could not create a temporary directory")?;
        }
        let mut schedule = std::ffi::OsString::from("replay:");
        schedule.push(file("order"));
        command.env("SOFTACL_CHECK", "1").env("SOFTACL_CHECK_DIR", file("reports")).env("SOFTACL_SCHEDULE", schedule);
        command.env("SOFTACL_REPLAY_LOG", file("logs")).env_remove("SOFTACL_TRACE").stdin(Stdio::null());
        if std::env::var_os("PYTHONHASHSEED").is_none() {
            command.env("PYTHONHASHSEED", "0");
        }
        interposer::preload(&mut command, directory.path())?;
        // SAFETY: both calls are async-signal-safe and affect only the child.
        unsafe { command.pre_exec(make_repeatable) };
        Ok(Runner { directory, command, compares_output: arguments.compare_output })
    }

    /// Runs the program in an order, for at most `limit`. `expected` is the standard output to compare with.
    pub fn run(&mut self, order: &Order, limit: Duration, expected: Option<&[u8]>) -> Result<Run> {
        let file = |name: &str| self.directory.path().join(name);
        let (reports, logs, stdout, stderr) = (file("reports"), file("logs"), file("stdout"), file("stderr"));
        fs::write(file("order"), order.to_string()).context("could not write an order")?;
        for stale in [&reports, &logs] {
            for entry in fs::read_dir(stale)? {
                fs::remove_file(entry?.path())?;
            }
        }
        self.command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let start = Instant::now();
        let child = self
            .command
            .spawn()
            .with_context(|| format!("could not run {}", self.command.get_program().to_string_lossy()))?;
        let pid = child.id();
        let status = wait(child, limit)?;
        let duration = start.elapsed();
        let trace = read_trace(&logs, pid)?;
        let (stdout, stderr) = (fs::read(stdout)?, fs::read(stderr)?);
        let is_whole = trace.end != End::Redundant;
        let differs = || self.compares_output && expected.is_some_and(|expected| expected != stdout);
        let failure = match status {
            _ if !is_whole => None,
            None => Some(Failure::Hang),
            Some(status) => match (status.code(), status.signal()) {
                (Some(0), _) => differs().then_some(Failure::Output),
                (Some(code), _) => Some(Failure::Code(code)),
                (None, signal) => Some(Failure::Signal(signal.unwrap_or(0))),
            },
        };
        let exit_code = status.map_or(124, |status| status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
        let found = if is_whole { collect::read(&reports)? } else { collect::Found::new() };
        let reports = found.into_values().flatten().collect();
        Ok(Run { trace, failure, exit_code, reports, full: Vec::new(), stdout, stderr, duration })
    }
}

/// Runs in the child before the program. Addresses must be equal in every run, because orders name them.
fn make_repeatable() -> io::Result<()> {
    // SAFETY: changes properties of the calling process only.
    unsafe {
        let current = libc::personality(0xffff_ffff);
        libc::personality((current | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    Ok(())
}

/// Waits for a child. Ends it after `limit` or when a stop is requested, and returns `None` then.
fn wait(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    let end = end_of(&child)?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || signals::stopped().is_some() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        let mut event = libc::pollfd { fd: end.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let slice = left.min(STOP_CHECK).as_millis().max(1) as i32;
        // SAFETY: one valid entry. A failure (a signal) only means that the loop looks again.
        unsafe { libc::poll(&mut event, 1, slice) };
    }
}

/// A file that becomes readable when a child ends.
fn end_of(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: the call has no preconditions.
    let file = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new file, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(file as i32) })
}

/// Reads the log of the process, or of the only other process that has one.
fn read_trace(logs: &Path, pid: u32) -> Result<Trace> {
    let paths: Vec<PathBuf> = fs::read_dir(logs)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let own = logs.join(format!("{pid}.log"));
    let Some(path) = paths.iter().find(|path| **path == own).or(paths.first()) else { return Ok(Trace::default()) };
    let mut trace = Trace::read(&String::from_utf8_lossy(&fs::read(path)?));
    if paths.len() > 1 {
        trace.uncontrolled.insert("processes".to_owned());
    }
    Ok(trace)
}
