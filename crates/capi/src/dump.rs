//! Switching the dump of operators on and off. There are no operators, so nothing is ever dumped; the
//! order of the calls and the file are checked all the same.

use crate::entry::{refuse_with, text};
use ascendcl_sys::*;
use std::ffi::c_char;
use std::fs;
use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};

static IS_RUNNING: Mutex<bool> = Mutex::new(false);

/// Codes of the interface that the engine does not know, with their sentence.
type Refusal = (i32, String);

fn coded(function: &'static str, run: impl FnOnce(&mut bool) -> Result<(), Refusal>) -> aclError {
    let run = std::panic::AssertUnwindSafe(run);
    let outcome = catch_unwind(move || {
        let run = run;
        (run.0)(&mut IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
    });
    let (code, why) = match outcome {
        Ok(Ok(())) => return 0,
        Ok(Err(refused)) => refused,
        Err(_) => (ACL_ERROR_INTERNAL_ERROR, "a panic was caught; this is a defect of softacl".to_owned()),
    };
    refuse_with(function, code, &why)
}

fn not_running() -> Refusal {
    (ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump was not called, or dump was ended already".to_owned())
}

#[unsafe(no_mangle)]
pub extern "C" fn aclmdlInitDump() -> aclError {
    coded("aclmdlInitDump", |is_running| {
        if *is_running {
            return Err((ACL_ERROR_DUMP_ALREADY_RUN, "dump was begun already".to_owned()));
        }
        *is_running = true;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlSetDump(path: *const c_char) -> aclError {
    coded("aclmdlSetDump", |is_running| {
        let path = text(path, "dumpCfgPath").map_err(|error| (ACL_ERROR_INVALID_FILE, error.to_string()))?;
        let path = path.ok_or_else(|| (ACL_ERROR_INVALID_PARAM, "dumpCfgPath is NULL".to_owned()))?;
        if !*is_running {
            return Err(not_running());
        }
        let config = fs::read_to_string(&path).map_err(|error| (ACL_ERROR_INVALID_FILE, format!("{path}: {error}")))?;
        let parsed = serde_json::from_str::<serde_json::Value>(&config);
        parsed.map(|_| ()).map_err(|error| (ACL_ERROR_PARSE_FILE, format!("{path}: {error}")))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn aclmdlFinalizeDump() -> aclError {
    coded("aclmdlFinalizeDump", |is_running| {
        if !*is_running {
            return Err(not_running());
        }
        *is_running = false;
        Ok(())
    })
}
