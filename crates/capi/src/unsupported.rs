//! Functions of the API that softacl does not implement. Each is exported, prints a message on its first call, and
//! returns an error. None pretends to work.

use ascendcl_sys::{Function, Support};
use softacl_engine::Error;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static REPORTED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Prints once that `function` is not implemented. Returns the code for it.
#[cold]
pub(crate) fn refuse(function: &'static Function) -> i32 {
    let why = match function.state {
        Support::Absent(reason) if !reason.is_empty() => format!(": {reason}"),
        _ => String::new(),
    };
    let name = function.name;
    if REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        eprintln!("softacl: {name} is not implemented{why}; it returns 207000 (ACL_ERROR_RT_FEATURE_NOT_SUPPORT)");
    }
    crate::entry::record_error(function, &Error::Feature(format!("the function is not implemented by softacl{why}")))
}

include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
