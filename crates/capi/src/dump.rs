//! Switching the operator dump on and off. Operators compute on the CPU, and nothing is ever dumped; the order of the calls
//! and the configuration file are checked nevertheless.

use crate::argument::TextPtr;
use crate::entry::{CallError, export};
use ascendcl_sys::*;
use std::collections::BTreeSet;
use std::ffi::c_char;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kinds of arguments whose dump was started.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
static IS_RUNNING: Mutex<bool> = Mutex::new(false);

fn is_running() -> MutexGuard<'static, bool> {
    IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_running() -> CallError {
    CallError::code(ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump was not called, or the dump is already finalized")
}

export! {
    fn aclmdlInitDump() -> Result<(), CallError> {
        let mut is_running = is_running();
        if *is_running {
            return Err(CallError::code(ACL_ERROR_DUMP_ALREADY_RUN, "the dump is already initialized"));
        }
        *is_running = true;
        Ok(())
    }

    fn aclmdlSetDump(path: Option<TextPtr>) -> Result<(), CallError> {
        let wrong = |code| move |text: String| CallError::code(code, text);
        let path = path.ok_or_else(|| CallError::code(ACL_ERROR_INVALID_PARAM, "dumpCfgPath is NULL"))?;
        let path = path.read().map_err(|error| error.to_string()).map_err(wrong(ACL_ERROR_INVALID_FILE))?;
        if !*is_running() {
            return Err(not_running());
        }
        let config = fs::read_to_string(&path)
            .map_err(|error| format!("{path}: {error}"))
            .map_err(wrong(ACL_ERROR_INVALID_FILE))?;
        serde_json::from_str::<serde_json::Value>(&config)
            .map(|_| ())
            .map_err(|error| format!("{path}: {error}"))
            .map_err(wrong(ACL_ERROR_PARSE_FILE))
    }

    fn aclopStartDumpArgs(kind: u32, path: TextPtr) -> Result<(), CallError> |call| {
        let path = path.read()?;
        call.require_supported()?;
        check_kind(kind)?;
        if !fs::metadata(&path).is_ok_and(|found| found.is_dir()) {
            return Err(CallError::code(ACL_ERROR_INVALID_PARAM, format!("{path:?} is not a directory")));
        }
        if !started().insert(kind) {
            return Err(CallError::code(ACL_ERROR_DUMP_ALREADY_RUN, format!("dump type {kind} is already started")));
        }
        Ok(())
    }

    fn aclopStopDumpArgs(kind: u32) -> Result<(), CallError> |call| {
        call.require_supported()?;
        check_kind(kind)?;
        if !started().remove(&kind) {
            return Err(CallError::code(ACL_ERROR_DUMP_NOT_RUN, format!("dump type {kind} is not started")));
        }
        Ok(())
    }

    fn aclmdlFinalizeDump() -> Result<(), CallError> {
        let mut is_running = is_running();
        if !*is_running {
            return Err(not_running());
        }
        *is_running = false;
        Ok(())
    }
}

/// Nothing is dumped, so no kind of dump has a directory.
#[unsafe(no_mangle)]
pub extern "C" fn acldumpGetPath(_kind: i32) -> *const c_char {
    std::ptr::null()
}

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check_kind(kind: u32) -> Result<(), CallError> {
    if kind != 0 { Ok(()) } else { Err(CallError::code(ACL_ERROR_INVALID_PARAM, "dumpType is 0: it names no dump")) }
}
