//! Options of the operator compiler. softacl has no compiler: values are stored and returned.
//!
//! Only one option has a default, because it is true here: nothing is compiled at run time.

use crate::argument::{OutPtr, TextPtr};
use crate::entry::export;
use softacl_engine::{Error, fail};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

static OPTIONS: Mutex<BTreeMap<i32, String>> = Mutex::new(BTreeMap::new());

/// `ACL_OP_JIT_COMPILE`: operators are compiled at run time.
const COMPILE_AT_RUN_TIME: i32 = 10;

fn option(number: i32) -> Option<String> {
    let set = OPTIONS.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
    set.or_else(|| (number == COMPILE_AT_RUN_TIME).then(|| "disable".to_owned()))
}

/// Returns the bytes of an option, including the terminating zero, or 0 if it has no value.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetCompileoptSize(number: i32) -> usize {
    option(number).map_or(0, |value| value.len() + 1)
}

export! {
    fn aclSetCompileopt(number: i32, value: TextPtr) |_call| {
        let value = value.read()?;
        OPTIONS.lock().unwrap_or_else(PoisonError::into_inner).insert(number, value);
        Ok(())
    }

    fn aclGetCompileopt(number: i32, value: OutPtr<c_char>, length: usize) |_call| {
        let Some(mut found) = option(number) else {
            return fail(Error::Argument(format!("option {number} was not set, and softacl has no compiler with a default")));
        };
        found.push('\0');
        if found.len() > length {
            return fail(Error::Argument(format!("option {number} takes {} bytes, but the buffer holds {length}", found.len())));
        }
        value.write(found.as_bytes())
    }
}
