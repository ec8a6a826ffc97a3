//! Entry layer: every exported function that returns a status code runs through here.
//!
//! The entry runs the hooks of observers and fault rules, converts the arguments (`argument`), passes the calling
//! thread to the body, catches panics, and turns an error into its code, message and last-error cell. What a call
//! means is decided by the engine.

use crate::{config, exception_callbacks, faults, log_file, message, process, sync_gate};
use ascendcl_sys::Function;
use softacl_engine::{Caller, ContextKey, Error, Layer, fail};
use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

thread_local! {
    static CURRENT: Cell<Option<ContextKey>> = const { Cell::new(None) };
}

static LOGS_FAILURES: LazyLock<bool> = LazyLock::new(config::logs_failures);

/// Declares exported functions. The parameters have types of `argument`. The body returns the result of the engine, or
/// the type after `->`, whose error converts into [`CallError`]. A body that starts with `|call|` receives the [`Call`]
/// and fails if there is no machine; a body without it runs regardless.
macro_rules! export {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $(|$call:ident|)? $body:block
    )*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the shape of the C call")]
        pub unsafe extern "C" fn $name(
            $($arg: <$kind as $crate::argument::Argument>::Raw),*
        ) -> ascendcl_sys::aclError {
            const ROW: &ascendcl_sys::Function = ascendcl_sys::rows::$name;
            const {
                let parameters: &[&str] = &[$(stringify!($arg)),*];
                assert!(ROW.parameters.len() == parameters.len(), "the manifest has another number of parameters");
            }
            let arguments = || [$($crate::argument::Raw::word($arg)),*];
            $crate::entry::enter(ROW, arguments, || -> $crate::entry::call_result!($($result)?) {
                $crate::entry::run_body!(ROW, $(|$call|)? {
                    #[allow(unused_mut, unused_variables, reason = "some functions have no arguments")]
                    let mut names = ROW.parameters.iter().copied();
                    // SAFETY: these are the arguments of this call; the headers say what they permit.
                    $(let $arg = unsafe {
                        <$kind as $crate::argument::Argument>::from_program($arg, names.next().unwrap_or_default())
                    }?;)*
                    $body
                })
            })
        }
    )*};
}
pub(crate) use export;

/// Runs the body of an exported function, with or without a [`Call`].
macro_rules! run_body {
    ($row:expr, |$call:ident| $body:block) => {
        $crate::entry::with_call($row, |$call| $body)
    };
    ($row:expr, $body:block) => {
        $body
    };
}
pub(crate) use run_body;

/// The result type of a body: the given one, or that of the engine.
macro_rules! call_result {
    () => {
        softacl_engine::Result<()>
    };
    ($result:ty) => {
        $result
    };
}
pub(crate) use call_result;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallError {
    Engine(Box<Error>),
    /// A code that no error of the engine has.
    Code {
        code: i32,
        text: String,
        sets_last_error: bool,
    },
}

impl CallError {
    /// An error of the argument layer, which leaves the last-error cell unchanged.
    pub(crate) fn code(code: i32, text: impl Into<String>) -> CallError {
        CallError::Code { code, text: text.into(), sets_last_error: false }
    }

    /// An error of the runtime layer.
    pub(crate) fn runtime_code(code: i32, text: impl Into<String>) -> CallError {
        CallError::Code { code, text: text.into(), sets_last_error: true }
    }
}

impl From<Box<Error>> for CallError {
    fn from(error: Box<Error>) -> CallError {
        CallError::Engine(error)
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> CallError {
        CallError::Engine(Box::new(error))
    }
}

/// A call in progress: the calling thread, and the function that it called.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    caller: Caller<'a>,
    function: &'static Function,
}

impl<'a> Deref for Call<'a> {
    type Target = Caller<'a>;

    #[inline]
    fn deref(&self) -> &Caller<'a> {
        &self.caller
    }
}

impl Call<'_> {
    /// Fails if the documents list the called function for other products than the chip.
    pub(crate) fn require_supported(self) -> softacl_engine::Result<()> {
        self.require(self.function)
    }

    /// Fails if the documents list `function` for other products than the chip.
    pub(crate) fn require(self, function: &'static Function) -> softacl_engine::Result<()> {
        let profile = &self.machine().config().profile;
        if function.products & profile.chip.product_bit() != 0 {
            return Ok(());
        }
        fail(Error::Unsupported { what: function.name, soc: profile.soc.clone() })
    }
}

/// Runs an exported function: hooks, body, error handling. `arguments` returns the raw arguments by position.
#[inline]
pub(crate) fn enter<const N: usize, E: Into<CallError>>(
    function: &'static Function,
    arguments: impl Fn() -> [u64; N],
    body: impl FnOnce() -> Result<(), E>,
) -> i32 {
    // Tested before anything else, so that nothing is kept for the hooks on the fast path.
    let has_hooks = process::hooks_may_be_active();
    if has_hooks && let Some(code) = run_entry_hooks(function, &arguments()) {
        return code;
    }
    let code = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => fail_call(function, error.into()),
        Err(_) => fail_call(function, panic_error().into()),
    };
    if has_hooks {
        emit_exit(function, code);
    }
    code
}

/// Passes the calling thread to the body of a function.
#[inline]
pub(crate) fn with_call<T, E: From<Box<Error>>>(
    function: &'static Function,
    body: impl FnOnce(Call<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let machine = process::machine()?;
    // SAFETY: the addresses are arguments of a C call of the program, which allows access by passing them.
    CURRENT.with(|current| body(Call { caller: unsafe { Caller::new(machine, current) }, function }))
}

/// Runs an exported function that returns no code. If the body fails, the error is recorded like that of a code, and
/// the result is `otherwise`. There are no hooks, because fault rules can inject only codes.
pub(crate) fn value<T>(
    function: &'static Function,
    otherwise: T,
    body: impl FnOnce(Call<'_>) -> softacl_engine::Result<T>,
) -> T {
    match catch_unwind(AssertUnwindSafe(|| with_call(function, body))) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            fail_call(function, error.into());
            otherwise
        }
        Err(_) => {
            fail_call(function, panic_error().into());
            otherwise
        }
    }
}

/// Calls the observer's `exited` hook, records the call in the open regions of the thread, and lets a replayed order run
/// tasks.
#[cold]
fn emit_exit(function: &'static Function, code: i32) {
    if !function.uses_machine() {
        return;
    }
    sync_gate::call_ended(function);
    let Ok(machine) = process::machine() else { return };
    if let Some(observer) = machine.observer() {
        observer.exited(code);
    }
    machine.replay_exit();
}

/// Records the error of a call and returns its code.
#[cold]
#[inline(never)]
fn fail_call(function: &'static Function, error: CallError) -> i32 {
    match error {
        CallError::Engine(error) => {
            emit_error(function, &error);
            record_error(function, &error)
        }
        CallError::Code { code, text, sets_last_error } => {
            if sets_last_error {
                message::set_last_code(code);
            }
            store_message("EH0001", function, code, &text)
        }
    }
}

#[cold]
fn panic_error() -> Error {
    Error::Internal("a panic was caught; this is a defect of softacl".to_owned())
}

/// Runs the hooks at the start of a call. Returns the code of the call if a fault rule ends it.
#[cold]
#[inline(never)]
fn run_entry_hooks(function: &'static Function, arguments: &[u64]) -> Option<i32> {
    if !function.uses_machine() {
        return None;
    }
    // Without a machine there are no hooks. A body that needs one reports why there is none.
    let machine = process::machine().ok()?;
    // SAFETY: the addresses are arguments of a C call of the program, which allows access by passing them.
    let run = || CURRENT.with(|current| entry_hooks(unsafe { Caller::new(machine, current) }, function, arguments));
    let error = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(_) => Box::new(panic_error()),
    };
    let code = fail_call(function, error.into());
    emit_exit(function, code);
    Some(code)
}

/// Calls the observer's `entered` hook, lets a replayed order run tasks, and applies fault rules for calls.
fn entry_hooks(caller: Caller<'_>, function: &'static Function, arguments: &[u64]) -> softacl_engine::Result<()> {
    let machine = caller.machine();
    if let Some(observer) = machine.observer() {
        observer.entered(function);
    }
    machine.replay_entry(function);
    let Some(injection) = machine.injection() else { return Ok(()) };
    let context = || faults::match_context(function, arguments, caller);
    let fired = injection.call(function.name, context);
    let device = || context().device.and_then(|device| u32::try_from(device).ok());
    match fired.and_then(|rule| machine.injected_call_error(&rule, device())) {
        Some(error) => fail(error),
        None => Ok(()),
    }
}

/// Calls the observer's error hook and the program's exception callbacks.
#[cold]
fn emit_error(function: &'static Function, error: &Error) {
    let Ok(machine) = process::machine() else { return };
    if !function.uses_machine() {
        return;
    }
    if let Some(observer) = machine.observer() {
        observer.call_failed(function, error);
    }
    exception_callbacks::dispatch(machine);
}

/// Stores the message and the last-error code of an error of the engine. Returns its code.
#[cold]
pub(crate) fn record_error(function: &'static Function, error: &Error) -> i32 {
    let (code, layer) = (error.code(), error.layer());
    if layer == Layer::Runtime {
        message::set_last_code(code);
    }
    let id = if layer == Layer::Arguments { "EH0001" } else { "EE1001" };
    let mut why = error.to_string();
    // The engine has only the visible devices; the reason for hidden ones is in the environment.
    if let (Error::Device { .. }, Some(reason)) = (error, config::hidden_devices()) {
        why = format!("{why}; {reason}");
    }
    store_message(id, function, code, &why)
}

fn store_message(id: &str, function: &'static Function, code: i32, why: &str) -> i32 {
    let name = ascendcl_sys::code_name(code).unwrap_or("unknown code");
    let stop = if why.ends_with(['.', '?', '!']) { "" } else { "." };
    let text = format!("[{id}] {} failed with {code} ({name}): {why}{stop}", function.name);
    report(text);
    code
}

/// Stores the message of a failed call, and prints it if failures are logged.
pub(crate) fn report(text: String) {
    if *LOGS_FAILURES {
        log_file::write(&format!("softacl: {text}"));
    }
    message::add(text);
}

/// Checks a timeout of the API: -1 waits without limit, otherwise a positive number of milliseconds.
pub(crate) fn timeout(ms: i32) -> softacl_engine::Result<i32> {
    if ms == -1 || ms > 0 {
        return Ok(ms);
    }
    fail(Error::Parameter(format!("timeout {ms} is neither -1 (no limit) nor a positive number of milliseconds")))
}
