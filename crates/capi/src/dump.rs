//! Switching the operator dump on and off. There are no operators, so nothing is ever dumped; the order of the calls
//! and the configuration file are checked nevertheless.

use crate::argument::TextPtr;
use crate::entry::{CallError, export};
use ascendcl_sys::*;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
        let config =
            fs::read_to_string(&path).map_err(|error| format!("{path}: {error}")).map_err(wrong(ACL_ERROR_INVALID_FILE))?;
        serde_json::from_str::<serde_json::Value>(&config)
            .map(|_| ())
            .map_err(|error| format!("{path}: {error}"))
            .map_err(wrong(ACL_ERROR_PARSE_FILE))
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
