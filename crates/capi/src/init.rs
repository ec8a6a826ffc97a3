//! aclInit and aclFinalize: configuration files and their reference count.
//!
//! No other function of the runtime asks whether this was called.

use crate::entry::{export, text};
use crate::message;
use ascendcl_sys::*;
use serde_json::Value;
use softacl_engine::Caller;
use std::ffi::c_char;
use std::fs;
use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};

static STATE: Mutex<InitState> = Mutex::new(InitState { count: 0, finalized: false, config: None });

struct InitState {
    count: u64,
    /// Set by finalising, cleared by initialising; not set at the start.
    finalized: bool,
    /// Contents of the configuration file of the first call.
    config: Option<String>,
}

/// These functions answer with codes of their own that carry no engine error.
fn run_with_code(
    function: &'static str,
    run: impl FnOnce() -> Result<(), (i32, String)> + std::panic::UnwindSafe,
) -> aclError {
    let observer = crate::process::machine().ok().and_then(|machine| machine.observer());
    if let Some(observer) = observer {
        observer.entered(function);
    }
    let code = finish_call(function, run);
    if let Some(observer) = observer {
        observer.exited(code);
    }
    code
}

fn finish_call(
    function: &'static str,
    run: impl FnOnce() -> Result<(), (i32, String)> + std::panic::UnwindSafe,
) -> aclError {
    let struck = || match crate::entry::injected_error(function) {
        Some(error) => Err((error.code(), error.to_string())),
        None => run(),
    };
    let (code, text) = match catch_unwind(struck) {
        Ok(Ok(())) => return 0,
        Ok(Err(refused)) => refused,
        Err(_) => (ACL_ERROR_INTERNAL_ERROR, "a panic was caught; this is a defect of softacl".to_owned()),
    };
    crate::entry::refuse_with(function, code, &text)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclInit(config_path: *const c_char) -> aclError {
    run_with_code("aclInit", || {
        let path = text(config_path, "configPath").map_err(|e| (ACL_ERROR_INVALID_FILE, e.to_string()))?;
        let config = match path.as_deref() {
            None | Some("") => String::new(),
            Some(path) => fs::read_to_string(path).map_err(|e| (ACL_ERROR_INVALID_FILE, format!("{path}: {e}")))?,
        };
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if state.count > 0 {
            if state.config.as_deref() != Some(config.as_str()) && !config.is_empty() {
                return Err((ACL_ERROR_INVALID_PARAM, "already initialised with another configuration".to_owned()));
            }
            state.count += 1;
            return Err((
                ACL_ERROR_REPEAT_INITIALIZE,
                format!("already initialised; this is call {}; harmless", state.count),
            ));
        }
        apply(&config, path.as_deref().unwrap_or_default())?;
        emit_finalized(false);
        *state = InitState { count: 1, finalized: false, config: Some(config) };
        Ok(())
    })
}

/// Reads the keys that matter here. Others (dump, profiling, stack sizes) are accepted and have no
/// effect: there is nothing that they could configure.
fn apply(config: &str, path: &str) -> Result<(), (i32, String)> {
    if config.trim().is_empty() {
        return Ok(());
    }
    let json: Value = serde_json::from_str(config).map_err(|e| (ACL_ERROR_PARSE_FILE, format!("{path}: {e}")))?;
    if !json.is_object() {
        return Err((ACL_ERROR_PARSE_FILE, format!("{path}: the configuration must be a JSON object")));
    }
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    if let Some(mode) = json.get("err_msg_mode") {
        match number(mode) {
            Some(mode @ 0..=1) => message::keep_per_process(mode == 1),
            _ => {
                return Err((
                    ACL_ERROR_INVALID_PARAM,
                    format!("{path}: err_msg_mode is {mode}, and must be \"0\" or \"1\""),
                ));
            }
        }
    }
    if let Some(device) = json.pointer("/defaultDevice/default_device") {
        let wrong = |why: String| (ACL_ERROR_INVALID_PARAM, format!("{path}: default_device {device}: {why}"));
        let number = number(device)
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| wrong("not a device number".to_owned()))?;
        let machine = crate::process::machine().map_err(|e| (e.code(), e.to_string()))?;
        machine.set_default_device(number).map_err(|e| wrong(e.to_string()))?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn aclFinalize() -> aclError {
    run_with_code("aclFinalize", || {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if state.finalized {
            return Err((ACL_ERROR_REPEAT_FINALIZE, "already finalised".to_owned()));
        }
        state.finish();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclFinalizeReference(ref_count: *mut u64) -> aclError {
    let address = ref_count as usize;
    run_with_code("aclFinalizeReference", move || {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if state.count == 0 {
            return Err((ACL_ERROR_REPEAT_FINALIZE, "every initialisation is already finalised".to_owned()));
        }
        state.count -= 1;
        let left = state.count;
        if left == 0 {
            state.finish();
        }
        if address != 0 && !softacl_memory::segv::try_write(address, &left.to_ne_bytes()) {
            return Err((ACL_ERROR_INVALID_PARAM, format!("refCount points to {address:#x}, which cannot be written")));
        }
        Ok(())
    })
}

/// Tells an observer whether the program has finished.
fn emit_finalized(is_final: bool) {
    if let Some(observer) = crate::process::machine().ok().and_then(|machine| machine.observer()) {
        observer.finalized(is_final);
    }
}

impl InitState {
    fn finish(&mut self) {
        *self = InitState { count: 0, finalized: true, config: None };
        message::keep_per_process(false);
        emit_finalized(true);
        if let Ok(machine) = crate::process::machine() {
            machine.clear_default_device();
        }
    }
}

export! {
    /// Which optional abilities the chip has.
    fn aclGetCannAttributeList(list: *mut *const i32, count: *mut usize) |_caller| {
        let (list, count) = (crate::entry::out(list, "cannAttrList")?, crate::entry::out(count, "num")?);
        list.set(ATTRIBUTES.as_ptr())?;
        count.set(ATTRIBUTES.len())
    }

    fn aclGetCannAttribute(attribute: i32, value: *mut i32) |caller| {
        let value = crate::entry::out(value, "value")?;
        value.set(i32::from(has_attribute(caller, attribute)?))
    }
}

static ATTRIBUTES: [i32; 3] = [ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE];

fn has_attribute(caller: Caller<'_>, attribute: i32) -> softacl_engine::Result<bool> {
    let features = &caller.machine().config().profile.chip.features;
    match attribute {
        ACL_CANN_ATTR_INF_NAN => Ok(features.inf_nan),
        ACL_CANN_ATTR_BF16 => Ok(features.bf16),
        // There is no operator compiler.
        ACL_CANN_ATTR_JIT_COMPILE => Ok(false),
        _ => softacl_engine::fail(softacl_engine::Error::Argument(format!(
            "attribute {attribute} is not one of {ATTRIBUTES:?}"
        ))),
    }
}
