//! Callbacks of aclInit and aclFinalize, with which other libraries take part in them. `init` calls them.
//!
//! A callback runs while no lock of softacl is held, in the order of registration.

use crate::entry::{CallError, export};
use ascendcl_sys::*;
use softacl_engine::{Error, fail};
use std::ffi::{CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

type InitFunction = unsafe extern "C" fn(*const c_char, usize, *mut c_void) -> aclError;
type FinalizeFunction = unsafe extern "C" fn(*mut c_void) -> aclError;

/// A registered function with its argument.
#[derive(Clone, Copy)]
struct Registered<F> {
    kind: i32,
    function: F,
    argument: *mut c_void,
}

// SAFETY: the API documents that the function is called with this argument by the thread that initializes or finalizes.
unsafe impl<F> Send for Registered<F> {}

static INIT: Mutex<Vec<Registered<InitFunction>>> = Mutex::new(Vec::new());
/// The text of the configuration while the API is initialized.
static CONFIG: Mutex<Option<String>> = Mutex::new(None);
static FINALIZE: Mutex<Vec<Registered<FinalizeFunction>>> = Mutex::new(Vec::new());

fn lock<F>(list: &Mutex<Vec<Registered<F>>>) -> MutexGuard<'_, Vec<Registered<F>>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

export! {
    /// If the API is initialized already, the function is called immediately: nothing else would ever call it.
    fn aclInitCallbackRegister(
        kind: i32, function: aclInitCallbackFunc, user_data: *mut c_void
    ) -> Result<(), CallError> |call| {
        check_kind(kind)?;
        let function = function.ok_or(Error::Null("cbFunc"))?;
        call.require_supported()?;
        let registered = Registered { kind, function, argument: user_data };
        add(&INIT, registered, std::ptr::fn_addr_eq)?;
        let config = CONFIG.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(config) = config else { return Ok(()) };
        call_one(registered, &config).inspect_err(|_| lock(&INIT).retain(|other| !is_same_init(other, &registered)))
    }

    fn aclInitCallbackUnRegister(kind: i32, function: aclInitCallbackFunc) |call| {
        check_kind(kind)?;
        let function = function.ok_or(Error::Null("cbFunc"))?;
        call.require_supported()?;
        remove(&INIT, kind, |other| std::ptr::fn_addr_eq(other, function))
    }

    fn aclFinalizeCallbackRegister(kind: i32, function: aclFinalizeCallbackFunc, user_data: *mut c_void) |call| {
        check_kind(kind)?;
        let function = function.ok_or(Error::Null("cbFunc"))?;
        call.require_supported()?;
        add(&FINALIZE, Registered { kind, function, argument: user_data }, std::ptr::fn_addr_eq)
    }

    fn aclFinalizeCallbackUnRegister(kind: i32, function: aclFinalizeCallbackFunc) |call| {
        check_kind(kind)?;
        let function = function.ok_or(Error::Null("cbFunc"))?;
        call.require_supported()?;
        remove(&FINALIZE, kind, |other| std::ptr::fn_addr_eq(other, function))
    }
}

fn check_kind(kind: i32) -> softacl_engine::Result<()> {
    if (ACL_REG_TYPE_ACL_MODEL..=ACL_REG_TYPE_ACL_RETR).contains(&kind) || kind == ACL_REG_TYPE_OTHER {
        return Ok(());
    }
    fail(Error::Argument(format!("type {kind} is neither in 0 to 7 nor 65535")))
}

fn add<F: Copy>(
    list: &Mutex<Vec<Registered<F>>>,
    new: Registered<F>,
    is_same: impl Fn(F, F) -> bool,
) -> softacl_engine::Result<()> {
    let mut list = lock(list);
    if list.iter().any(|other| other.kind == new.kind && is_same(other.function, new.function)) {
        return fail(Error::Argument(format!("the function is already registered for type {}", new.kind)));
    }
    list.push(new);
    Ok(())
}

fn remove<F: Copy>(
    list: &Mutex<Vec<Registered<F>>>,
    kind: i32,
    is_same: impl Fn(F) -> bool,
) -> softacl_engine::Result<()> {
    let mut list = lock(list);
    let Some(index) = list.iter().position(|other| other.kind == kind && is_same(other.function)) else {
        return fail(Error::Argument(format!("the function is not registered for type {kind}")));
    };
    list.remove(index);
    Ok(())
}

fn is_same_init(one: &Registered<InitFunction>, other: &Registered<InitFunction>) -> bool {
    one.kind == other.kind && std::ptr::fn_addr_eq(one.function, other.function)
}

/// Calls the functions for an initialization with the text of the configuration. Fails with the code of the first that
/// fails; the rest is not called.
pub(crate) fn initialized(config: &str) -> Result<(), CallError> {
    set_config(Some(config.to_owned()));
    let all = lock(&INIT).clone();
    all.into_iter().try_for_each(|registered| call_one(registered, config)).inspect_err(|_| set_config(None))
}

fn set_config(config: Option<String>) {
    *CONFIG.lock().unwrap_or_else(PoisonError::into_inner) = config;
}

fn call_one(Registered { kind, function, argument }: Registered<InitFunction>, config: &str) -> Result<(), CallError> {
    let text = CString::new(config).unwrap_or_default();
    // SAFETY: the program registered this function for a text of this length, which lives until it returns.
    check(unsafe { function(text.as_ptr(), text.as_bytes().len(), argument) }, "aclInit", kind)
}

/// Calls the functions for a finalization, all of them. Fails with the code of the first that fails.
pub(crate) fn finalized() -> Result<(), CallError> {
    set_config(None);
    let all = lock(&FINALIZE).clone();
    let call = |Registered { kind, function, argument }: Registered<FinalizeFunction>| {
        // SAFETY: the program registered this function to be called with this argument.
        check(unsafe { function(argument) }, "aclFinalize", kind)
    };
    all.into_iter().map(call).fold(Ok(()), Result::and)
}

fn check(code: aclError, when: &str, kind: i32) -> Result<(), CallError> {
    if code == 0 {
        return Ok(());
    }
    Err(CallError::code(code, format!("a callback of {when}, registered for type {kind}, returned {code}")))
}
