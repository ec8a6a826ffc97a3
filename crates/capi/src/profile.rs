//! Profiles: `aclprofStart` to `aclprofStop` is written as one trace into a directory that the program names.
//!
//! The tracer records, as under `softacl trace`. If the environment has already enabled it, its recording is used;
//! otherwise a tracer is attached to the running machine. Under the checker, which is an observer itself, nothing is
//! collected, and one line says so. Which data the program selects has no effect: everything is collected.

use crate::argument::{InPtr, NonNullArg};
use crate::entry::{CallError, export, value};
use crate::object::{self, Object};
use crate::{config, process, trace};
use ascendcl_sys::*;
use softacl_engine::observer::Observer;
use softacl_engine::{Error, Machine, Observation, Result, fail, segv};
use softacl_tracer::Tracer;
use std::ffi::c_void;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Maximum length of the path of the directory.
const MAX_PATH: usize = 4096;

/// The object behind an `aclprofConfig*`.
struct Selection;

impl Object for Selection {
    const NAME: &'static str = "profiling configuration";
}

/// From `aclprofInit` to `aclprofFinalize`.
struct Profile {
    directory: PathBuf,
    session: Option<Session>,
    /// Number of files written.
    written: u32,
}

/// From `aclprofStart` to `aclprofStop`.
struct Session {
    selection: usize,
    /// `None` if nothing can be collected.
    recording: Option<Recording>,
}

struct Recording {
    tracer: Arc<Tracer>,
    start: u64,
    /// Present if the profile attached the tracer.
    observation: Option<Observation>,
}

static PROFILE: Mutex<Option<Profile>> = Mutex::new(None);
/// The tracer of profiles, created by the first one. It stays attached to the machine.
static TRACER: OnceLock<Arc<Tracer>> = OnceLock::new();

fn profile() -> MutexGuard<'static, Option<Profile>> {
    PROFILE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn already_running(what: &str) -> CallError {
    CallError::code(ACL_ERROR_PROF_ALREADY_RUN, what)
}

fn not_running(what: &str) -> CallError {
    CallError::code(ACL_ERROR_PROF_NOT_RUN, what)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofCreateConfig(
    devices: *mut u32,
    count: u32,
    metrics: i32,
    _events: *const c_void,
    _data: u64,
) -> *mut c_void {
    use crate::argument::Argument as _;
    value(rows::aclprofCreateConfig, ptr::null_mut(), |call| {
        call.require_supported()?;
        if !matches!(metrics, ACL_AICORE_ARITHMETIC_UTILIZATION..=ACL_AICORE_MEMORY_ACCESS | ACL_AICORE_NONE) {
            return fail(Error::Argument(format!("aicoreMetrics {metrics} does not exist")));
        }
        // SAFETY: the argument of this call, which the program permits to read.
        let devices = unsafe { Option::<InPtr<u32>>::from_program(devices, "deviceIdList") }?;
        match devices {
            Some(devices) => {
                let guard = segv::enter();
                let known = |device: &u32| call.machine().logical_device((*device).into()).map(drop);
                devices.array(count as usize, &guard)?.iter().try_for_each(known)?;
            }
            None if count == 0 => {}
            None => return fail(Error::Null("deviceIdList")),
        }
        object::create(Selection)
    })
}

export! {
    fn aclprofDestroyConfig(selection: *const c_void) |call| {
        call.require_supported()?;
        object::destroy::<Selection>(selection).map(drop)
    }

    fn aclprofInit(path: InPtr<u8>, length: usize) -> std::result::Result<(), CallError> |call| {
        call.require_supported()?;
        let directory = directory(path, length)?;
        let mut profile = profile();
        if profile.is_some() {
            return Err(already_running("aclprofInit was already called; call aclprofFinalize first"));
        }
        *profile = Some(Profile { directory, session: None, written: 0 });
        Ok(())
    }

    fn aclprofStart(selection: NonNullArg<*const c_void>) -> std::result::Result<(), CallError> |call| {
        call.require_supported()?;
        object::with(selection.address() as *const c_void, |_: &mut Selection| ())?;
        let mut profile = profile();
        let Some(profile) = profile.as_mut() else {
            return Err(not_running("aclprofInit was not called"));
        };
        if profile.session.is_some() {
            return Err(already_running("a profile is being collected; call aclprofStop first"));
        }
        profile.session = Some(Session { selection: selection.address(), recording: record(call.machine())? });
        Ok(())
    }

    fn aclprofStop(selection: NonNullArg<*const c_void>) -> std::result::Result<(), CallError> |call| {
        call.require_supported()?;
        let mut profile = profile();
        let started = profile.as_ref().and_then(|profile| profile.session.as_ref()).map(|session| session.selection);
        match started {
            None => return Err(not_running("no profile is being collected")),
            Some(started) if started != selection.address() => {
                let text = "the profile was started with another configuration";
                return Err(Error::Argument(text.to_owned()).into());
            }
            Some(_) => {}
        }
        profile.as_mut().map_or(Ok(()), |profile| profile.stop(call.machine()))
    }

    fn aclprofFinalize() -> std::result::Result<(), CallError> |call| {
        call.require_supported()?;
        match profile().take() {
            Some(mut profile) => profile.stop(call.machine()),
            None => Err(not_running("aclprofInit was not called")),
        }
    }

    /// Without effect: there is nothing to configure.
    fn aclprofSetConfig(_kind: i32, text: InPtr<u8>, length: usize) |call| {
        call.require_supported()?;
        text.copy(length, "a setting").map(drop)
    }
}

/// Reads the path of a directory and checks that it is one.
fn directory(path: InPtr<u8>, length: usize) -> Result<PathBuf> {
    if length == 0 || length > MAX_PATH {
        return fail(Error::Argument(format!("the path has {length} bytes, not 1 to {MAX_PATH}")));
    }
    let Ok(path) = String::from_utf8(path.copy(length, "a path")?) else {
        return fail(Error::Argument("the path is not valid UTF-8".to_owned()));
    };
    // The length may include the terminating zero. The program may change its directory.
    let path = path.trim_end_matches('\0');
    match std::path::absolute(path) {
        Ok(absolute) if fs::metadata(&absolute).is_ok_and(|found| found.is_dir()) => Ok(absolute),
        _ => fail(Error::Argument(format!("{path:?} is not an existing directory"))),
    }
}

/// Starts recording. `None` if another observer is active.
fn record(machine: &Machine) -> Result<Option<Recording>> {
    if let Some(tracer) = trace::active() {
        return Ok(Some(Recording { start: tracer.now(), tracer, observation: None }));
    }
    let limit = config::trace_limit().map_err(Error::Setup)?;
    let tracer = match TRACER.get() {
        Some(tracer) => Arc::clone(tracer),
        None => {
            let tracer = Tracer::new(limit).map_err(|error| Error::Setup(format!("no memory for a trace: {error}")))?;
            Arc::clone(TRACER.get_or_init(|| Arc::new(tracer)))
        }
    };
    let observer: Arc<dyn Observer> = tracer.clone();
    let Some(observation) = machine.attach_observer(&observer) else {
        eprintln!("softacl: aclprofStart collects nothing, because the process runs under softacl check");
        return Ok(None);
    };
    process::set_hooks_active(true);
    Ok(Some(Recording { start: tracer.now(), tracer, observation: Some(observation) }))
}

impl Profile {
    /// Ends the session, if there is one, and writes its trace.
    fn stop(&mut self, machine: &Machine) -> std::result::Result<(), CallError> {
        let Some(Recording { tracer, start, observation }) = self.session.take().and_then(|session| session.recording)
        else {
            return Ok(());
        };
        self.written += 1;
        let path = self.directory.join(format!("softacl_{}_{}.json", std::process::id(), self.written));
        let result = write(&tracer, start, &path);
        drop(observation);
        process::set_hooks_active(machine.has_hooks());
        result.map_err(|error| {
            CallError::code(ACL_ERROR_PROFILING_FAILURE, format!("{} could not be written: {error}", path.display()))
        })
    }
}

fn write(tracer: &Tracer, start: u64, path: &std::path::Path) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
    tracer.write_since(start, &mut file)?;
    file.flush()
}
