//! aclInit and aclFinalize: the configuration file and the reference count.
//!
//! No other function of the runtime depends on these calls.

use crate::argument::{OutPtr, TextPtr};
use crate::entry::{Call, CallError, export};
use crate::{init_callback, message};
use ascendcl_sys::*;
use serde_json::Value;
use softacl_engine::{Error, fail};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

static STATE: Mutex<InitState> = Mutex::new(InitState::NEVER);

fn state() -> MutexGuard<'static, InitState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct InitState {
    count: u64,
    /// Set by finalization, cleared by initialization; initially clear.
    finalized: bool,
    /// Contents of the configuration file that the first call named.
    config: Option<String>,
}

export! {
    fn aclInit(config_path: Option<TextPtr>) -> Result<(), CallError> {
        let unreadable = |text: String| CallError::code(ACL_ERROR_INVALID_FILE, text);
        let path = config_path.map(TextPtr::read).transpose().map_err(|error| unreadable(error.to_string()))?;
        let config = match path.as_deref() {
            None | Some("") => String::new(),
            Some(path) => read_config(path).map_err(|error| unreadable(format!("{path}: {error}")))?,
        };
        let mut state = state();
        if state.count > 0 {
            if state.config.as_deref() != Some(config.as_str()) && !config.is_empty() {
                let text = "already initialized with another configuration";
                return Err(CallError::code(ACL_ERROR_INVALID_PARAM, text));
            }
            state.count += 1;
            let text = format!("already initialized; this is call {}; harmless", state.count);
            return Err(CallError::code(ACL_ERROR_REPEAT_INITIALIZE, text));
        }
        apply(&config, path.as_deref().unwrap_or_default())?;
        emit_finalized(false);
        *state = InitState { count: 1, finalized: false, config: Some(config.clone()) };
        drop(state);
        init_callback::initialized(&config).inspect_err(|_| crate::init::state().undo())
    }

    fn aclFinalize() -> Result<(), CallError> {
        let mut state = state();
        if state.finalized {
            return Err(CallError::code(ACL_ERROR_REPEAT_FINALIZE, "already finalized"));
        }
        state.finish();
        drop(state);
        init_callback::finalized()
    }

    fn aclFinalizeReference(ref_count: Option<OutPtr<u64>>) -> Result<(), CallError> {
        let mut state = state();
        if state.count == 0 {
            return Err(CallError::code(ACL_ERROR_REPEAT_FINALIZE, "every initialization is already finalized"));
        }
        state.count -= 1;
        let left = state.count;
        if left == 0 {
            state.finish();
        }
        drop(state);
        ref_count.map_or(Ok(()), |ref_count| ref_count.set(left))?;
        if left == 0 { init_callback::finalized() } else { Ok(()) }
    }

    /// Lists the optional features that `aclGetCannAttribute` accepts.
    fn aclGetCannAttributeList(list: OutPtr<*const i32>, count: OutPtr<usize>) |_call| {
        list.set(ATTRIBUTES.as_ptr())?;
        count.set(ATTRIBUTES.len())
    }

    fn aclGetCannAttribute(attribute: i32, value: OutPtr<i32>) |call| {
        value.set(i32::from(has_attribute(call, attribute)?))
    }
}

/// Maximum size of a configuration file, in bytes.
const MAX_CONFIG: u64 = 16 << 20;

/// Reads a configuration file. Refuses what is not a regular file, because it may block or never end.
fn read_config(path: &str) -> io::Result<String> {
    let irregular = || io::Error::other("not a regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(irregular());
    }
    // The file may have been replaced since then: do not block in `open`, and check the opened file.
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(irregular());
    }
    let mut text = String::new();
    file.take(MAX_CONFIG + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_CONFIG {
        return Err(io::Error::other(format!("larger than {} MiB", MAX_CONFIG >> 20)));
    }
    Ok(text)
}

/// Applies the configuration. Keys for dump, profiling and stack sizes are accepted without effect, because softacl has
/// nothing that they configure.
fn apply(config: &str, path: &str) -> Result<(), CallError> {
    if config.trim().is_empty() {
        return Ok(());
    }
    let wrong = |code, text: String| CallError::code(code, format!("{path}: {text}"));
    let json: Value = serde_json::from_str(config).map_err(|error| wrong(ACL_ERROR_PARSE_FILE, error.to_string()))?;
    if !json.is_object() {
        return Err(wrong(ACL_ERROR_PARSE_FILE, "the configuration must be a JSON object".to_owned()));
    }
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    if let Some(mode) = json.get("err_msg_mode") {
        match number(mode) {
            Some(mode @ 0..=1) => message::keep_per_process(mode == 1),
            _ => {
                let text = format!("err_msg_mode is {mode}, and must be \"0\" or \"1\"");
                return Err(wrong(ACL_ERROR_INVALID_PARAM, text));
            }
        }
    }
    if let Some(device) = json.pointer("/defaultDevice/default_device") {
        let wrong = |why: &str| wrong(ACL_ERROR_INVALID_PARAM, format!("default_device {device}: {why}"));
        let number = number(device).and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| wrong("not a device number"))?;
        let machine = crate::process::machine().map_err(|error| CallError::code(error.code(), error.to_string()))?;
        machine.set_default_device(number).map_err(|error| wrong(&error.to_string()))?;
    }
    Ok(())
}

/// Calls the observer's `finalized` hook.
fn emit_finalized(is_final: bool) {
    if let Some(observer) = crate::process::machine().ok().and_then(|machine| machine.observer()) {
        observer.finalized(is_final);
    }
}

impl InitState {
    /// Takes an initialization back that a callback has failed.
    fn undo(&mut self) {
        *self = InitState::NEVER;
        message::keep_per_process(false);
        if let Ok(machine) = crate::process::machine() {
            machine.clear_default_device();
        }
    }

    /// No call yet, or a call that failed.
    const NEVER: InitState = InitState { count: 0, finalized: false, config: None };

    fn finish(&mut self) {
        *self = InitState { count: 0, finalized: true, config: None };
        message::keep_per_process(false);
        emit_finalized(true);
        if let Ok(machine) = crate::process::machine() {
            machine.clear_default_device();
        }
    }
}

static ATTRIBUTES: [i32; 3] = [ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE];

fn has_attribute(call: Call<'_>, attribute: i32) -> softacl_engine::Result<bool> {
    let features = &call.machine().config().profile.chip.features;
    match attribute {
        ACL_CANN_ATTR_INF_NAN => Ok(features.inf_nan),
        ACL_CANN_ATTR_BF16 => Ok(features.bf16),
        // softacl has no operator compiler.
        ACL_CANN_ATTR_JIT_COMPILE => Ok(false),
        _ => fail(Error::Argument(format!("attribute {attribute} is not one of {ATTRIBUTES:?}"))),
    }
}
