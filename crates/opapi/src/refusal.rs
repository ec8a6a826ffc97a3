//! Operators that this library does not have. Each is exported, prints a message on its first call, and returns an
//! error. None pretends to work.

use nnopbase::status::{Failure, Status, finish};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static REPORTED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Phase one of an operator that is not here.
#[cold]
pub fn refuse(operator: &'static str) -> Status {
    if REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert(operator) {
        eprintln!("softacl: {operator} is not implemented; docs/aclnn.md lists the operators that are");
    }
    let why = "softacl does not have this operator; docs/aclnn.md lists those that it has";
    finish(&format!("{operator}GetWorkspaceSize"), Err(Failure::Runtime(why.into())))
}
