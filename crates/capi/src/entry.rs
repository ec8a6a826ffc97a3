//! The door: what every exported function goes through.
//!
//! It catches panics, gives the function its caller, turns an error into a code, and keeps the text
//! and the last-error cell. It also converts what C hands over: results are written and arrays read
//! through the engine's guarded routines, so a wild pointer is an error and not a crash.

use crate::{config, exception, message, process};
use softacl_engine::{Caller, ContextKey, Error, Layer, Machine, Result, fail, segv};
use softacl_faults::MatchContext;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

thread_local! {
    static CURRENT: Cell<Option<ContextKey>> = const { Cell::new(None) };
}

static LOGS_FAILURES: LazyLock<bool> = LazyLock::new(config::logs_failures);

/// Declares exported functions. The body sees the arguments and returns `Result<()>`; a body
/// that starts with `|caller|` also sees the calling thread.
macro_rules! export {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $kind:ty),* $(,)?) |$caller:ident| $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $kind),*) -> ascendcl_sys::aclError {
            let facts = || {
                #[allow(unused_mut, reason = "some functions have no arguments")]
                let mut facts = softacl_faults::MatchContext::default();
                $($crate::faults::record_argument(&mut facts, stringify!($arg), $crate::entry::ArgValue::from($arg));)*
                facts
            };
            $crate::entry::enter_with(stringify!($name), facts, |$caller| $body)
        }
    )*};
}
pub(crate) use export;

/// An argument, for fault rules that look at it.
pub(crate) enum ArgValue {
    Number(u64),
    /// A handle, or where something is.
    Pointer(usize),
    /// Nothing that a rule asks for.
    Opaque,
}

macro_rules! impl_arg_value {
    ($($kind:ty: $value:ident => $word:expr;)*) => {$(
        impl From<$kind> for ArgValue {
            fn from($value: $kind) -> ArgValue {
                $word
            }
        }
    )*};
}
impl_arg_value! {
    i8: value => ArgValue::Number(value as u64);
    i16: value => ArgValue::Number(value as u64);
    i32: value => ArgValue::Number(value as u64);
    i64: value => ArgValue::Number(value as u64);
    u8: value => ArgValue::Number(value.into());
    u16: value => ArgValue::Number(value.into());
    u32: value => ArgValue::Number(value.into());
    u64: value => ArgValue::Number(value);
    usize: value => ArgValue::Number(value as u64);
    f32: _value => ArgValue::Opaque;
    ascendcl_sys::aclrtIpcEventHandle: _value => ArgValue::Opaque;
    ascendcl_sys::aclmdlRICondTaskParams: _value => ArgValue::Opaque;
}

impl<T> From<*mut T> for ArgValue {
    fn from(value: *mut T) -> ArgValue {
        ArgValue::Pointer(value as usize)
    }
}

impl<T> From<*const T> for ArgValue {
    fn from(value: *const T) -> ArgValue {
        ArgValue::Pointer(value as usize)
    }
}

impl<F> From<Option<F>> for ArgValue {
    fn from(_: Option<F>) -> ArgValue {
        ArgValue::Opaque
    }
}

/// Runs the body of an exported function of whose arguments fault rules know nothing.
#[inline]
pub(crate) fn enter(function: &'static str, body: impl FnOnce(Caller<'_>) -> Result<()>) -> i32 {
    enter_with(function, MatchContext::default, body)
}

/// Runs the body of an exported function.
#[inline]
pub(crate) fn enter_with(
    function: &'static str,
    facts: impl Fn() -> MatchContext,
    body: impl FnOnce(Caller<'_>) -> Result<()>,
) -> i32 {
    // Asked before anything else, so that ordinary calls carry nothing for it.
    let is_attended = process::hooks_may_be_active();
    if is_attended && let Some(code) = run_entry_hooks(function, facts()) {
        return code;
    }
    let run = || {
        let machine = process::machine()?;
        CURRENT.with(|current| body(Caller::new(machine, current)))
    };
    let code = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => fail_call(function, &error),
        Err(_) => fail_call(function, &panic_error()),
    };
    if is_attended {
        emit_exit(code);
    }
    code
}

/// Tells an observer that a call is over.
#[cold]
fn emit_exit(code: i32) {
    if let Some(observer) = process::machine().ok().and_then(|machine| machine.observer()) {
        observer.exited(code);
    }
}

/// The code of a call that failed.
#[cold]
#[inline(never)]
fn fail_call(function: &'static str, error: &Error) -> i32 {
    emit_error(function, error);
    record_error(function, error)
}

#[cold]
fn panic_error() -> Error {
    Error::Internal("a panic was caught; this is a defect of softacl".to_owned())
}

/// The code of a call that is over before it has begun, because fault rules say so.
#[cold]
#[inline(never)]
fn run_entry_hooks(function: &'static str, facts: MatchContext) -> Option<i32> {
    let run = || {
        let machine = process::machine()?;
        CURRENT.with(|current| entry_hooks(machine, Caller::new(machine, current), function, facts))
    };
    let error = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => *error,
        Err(_) => panic_error(),
    };
    let code = fail_call(function, &error);
    emit_exit(code);
    Some(code)
}

/// Tells an observer of a call, and asks fault rules what is to become of it.
fn entry_hooks(machine: &Machine, caller: Caller<'_>, function: &'static str, facts: MatchContext) -> Result<()> {
    if let Some(observer) = machine.observer() {
        observer.entered(function);
    }
    let Some(injection) = machine.injection() else { return Ok(()) };
    let complete = || MatchContext { device: facts.device.or_else(|| caller.device().ok().map(u64::from)), ..facts };
    let struck = injection.call(function, complete);
    let device = || complete().device.and_then(|device| u32::try_from(device).ok());
    match struck.and_then(|strike| machine.injected_call_error(&strike, device())) {
        Some(error) => fail(error),
        None => Ok(()),
    }
}

/// What fault rules make of a call that does not enter by the door.
pub(crate) fn injected_error(function: &'static str) -> Option<Error> {
    let machine = process::machine().ok()?;
    if !machine.has_hooks() {
        return None;
    }
    let strike = machine.injection()?.call(function, MatchContext::default)?;
    machine.injected_call_error(&strike, None)
}

/// Tells an observer of a call that failed, and the program of tasks that did.
#[cold]
fn emit_error(function: &'static str, error: &Error) {
    let Ok(machine) = process::machine() else { return };
    if let Some(observer) = machine.observer() {
        observer.call_failed(function, error);
    }
    exception::dispatch(machine);
}

/// Notes an error and gives its code.
#[cold]
pub(crate) fn record_error(function: &str, error: &Error) -> i32 {
    let (code, layer) = (error.code(), error.layer());
    if layer == Layer::Runtime {
        message::set_last_code(code);
    }
    let id = if layer == Layer::Arguments { "EH0001" } else { "EE1001" };
    let mut why = error.to_string();
    // The engine knows the devices that are left, not who chose them.
    if let (Error::Device { .. }, Some(reason)) = (error, config::hidden_devices()) {
        why = format!("{why}; {reason}");
    }
    store_message(id, function, code, &why)
}

/// Notes a refusal whose cause is not the engine's.
#[cold]
pub(crate) fn refuse_with(function: &str, code: i32, why: &str) -> i32 {
    store_message("EH0001", function, code, why)
}

fn store_message(id: &str, function: &str, code: i32, why: &str) -> i32 {
    let name = ascendcl_sys::code_name(code).unwrap_or("unknown code");
    let stop = if why.ends_with(['.', '?', '!']) { "" } else { "." };
    let text = format!("[{id}] {function} failed with {code} ({name}): {why}{stop}");
    if *LOGS_FAILURES {
        eprintln!("softacl: {text}");
    }
    message::add(text);
    code
}

/// A place for a result.
#[derive(Clone, Copy)]
pub(crate) struct Out<T> {
    address: usize,
    name: &'static str,
    kind: std::marker::PhantomData<T>,
}

/// A result pointer that must not be NULL.
pub(crate) fn out<T: Copy>(pointer: *mut T, name: &'static str) -> Result<Out<T>> {
    if pointer.is_null() {
        return fail(Error::Null(name));
    }
    Ok(Out { address: pointer as usize, name, kind: std::marker::PhantomData })
}

impl<T: Copy> Out<T> {
    /// Writes the result.
    pub(crate) fn set(self, value: T) -> Result<()> {
        // SAFETY: any initialised plain value may be read as bytes; the C structs written here have
        // no padding that matters.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        if segv::try_write(self.address, bytes) {
            return Ok(());
        }
        fail(Error::Argument(format!("{} points to {:#x}, which cannot be written", self.name, self.address)))
    }
}

/// An array that C hands over, readable in whole. NULL is `None`.
pub(crate) fn array<'a, T>(pointer: *const T, count: usize, name: &'static str) -> Result<Option<&'a [T]>> {
    let _hearing = (!pointer.is_null()).then(segv::enter);
    array_in_guard(pointer, count, name)
}

/// The same while faults are listened for, which takes system calls: once for many arrays.
pub(crate) fn array_in_guard<'a, T>(pointer: *const T, count: usize, name: &'static str) -> Result<Option<&'a [T]>> {
    if pointer.is_null() {
        return Ok(None);
    }
    let whole = count.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    let fine =
        pointer.is_aligned() && whole.is_some_and(|bytes| bytes == 0 || segv::is_readable(pointer as usize, bytes));
    if !fine {
        return fail(Error::Argument(format!("{name}: {count} elements at {pointer:?} cannot be read")));
    }
    // SAFETY: not NULL, aligned and readable as just checked; C promises not to change the arguments
    // of a call while it runs.
    Ok(Some(unsafe { std::slice::from_raw_parts(pointer, count) }))
}

/// A text that C hands over. NULL is `None`.
pub(crate) fn text(pointer: *const std::ffi::c_char, name: &'static str) -> Result<Option<String>> {
    const LIMIT: usize = 64 << 10;
    if pointer.is_null() {
        return Ok(None);
    }
    let _hearing = segv::enter();
    match segv::try_read_c_str(pointer as usize, LIMIT).map(String::from_utf8) {
        Some(Ok(text)) => Ok(Some(text)),
        _ => fail(Error::Argument(format!("{name} at {pointer:?} is not a readable text of at most {LIMIT} bytes"))),
    }
}

/// Refuses a function that the chip does not have.
pub(crate) fn require(caller: Caller<'_>, function: &'static str) -> Result<()> {
    let profile = &caller.machine().config().profile;
    let known = ascendcl_sys::manifest::function(function).is_none_or(|f| f.products & profile.chip.product_bit() != 0);
    if known {
        return Ok(());
    }
    fail(Error::Unsupported { what: function, soc: profile.soc.clone() })
}

/// A timeout of the interface: -1 for ever, or more than 0 milliseconds.
pub(crate) fn timeout(ms: i32) -> Result<i32> {
    if ms == -1 || ms > 0 {
        return Ok(ms);
    }
    fail(Error::Parameter(format!("timeout {ms} is neither -1 (for ever) nor a positive number of milliseconds")))
}
