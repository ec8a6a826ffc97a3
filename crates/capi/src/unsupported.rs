//! Functions of the interface that softacl does not implement. They exist, say so once in plain
//! words, and refuse. None pretends.

use ascendcl_sys::Support;
use softacl_engine::Error;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static REPORTED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Says once that `function` is not there, and gives the code for it.
#[cold]
pub(crate) fn refuse(function: &'static str) -> i32 {
    let why = match ascendcl_sys::manifest::function(function).map(|function| function.state) {
        Some(Support::Absent(reason)) if !reason.is_empty() => format!(": {reason}"),
        _ => String::new(),
    };
    if REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert(function) {
        eprintln!("softacl: {function} is not implemented{why}; it returns 207000 (ACL_ERROR_RT_FEATURE_NOT_SUPPORT)");
    }
    crate::entry::record_error(function, &Error::Feature(format!("the function is not implemented by softacl{why}")))
}

include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
