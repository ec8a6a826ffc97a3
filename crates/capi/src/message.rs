//! Texts and code of the latest errors, which `aclGetRecentErrMsg` and `aclrtGetLastError` return.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of unread messages. Older ones are dropped.
const MAX_MESSAGES: usize = 8;

static PER_PROCESS: AtomicBool = AtomicBool::new(false);
static PROCESS: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    static THREAD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The text that was returned last. Valid until the next call of this thread.
    static LAST_RETURNED: RefCell<Option<CString>> = const { RefCell::new(None) };
    static LAST_CODE: Cell<i32> = const { Cell::new(0) };
}

/// Selects whether messages are stored per process instead of per thread.
pub(crate) fn keep_per_process(enabled: bool) {
    PER_PROCESS.store(enabled, Ordering::Relaxed);
}

pub(crate) fn add(text: String) {
    with_messages(|messages| {
        if messages.len() == MAX_MESSAGES {
            messages.remove(0);
        }
        messages.push(text);
    });
}

/// Returns the messages, newest first, and removes them. NULL if there are none.
pub(crate) fn take() -> *const c_char {
    let mut messages = with_messages(std::mem::take);
    if messages.is_empty() {
        return ptr::null();
    }
    messages.reverse();
    let text = CString::new(messages.join("\n").replace('\0', "")).expect("zeros were removed");
    LAST_RETURNED.try_with(|slot| slot.borrow_mut().insert(text).as_ptr()).unwrap_or(ptr::null())
}

/// Applies `access` to the messages of this thread or of the process. A thread that is ending, as in an exit handler,
/// has lost its own and uses those of the process.
fn with_messages<T>(access: impl FnOnce(&mut Vec<String>) -> T) -> T {
    let of_process = || PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    if PER_PROCESS.load(Ordering::Relaxed) || THREAD.try_with(|_| ()).is_err() {
        return access(&mut of_process());
    }
    THREAD.with_borrow_mut(access)
}

pub(crate) fn set_last_code(code: i32) {
    LAST_CODE.set(code);
}

pub(crate) fn last_code() -> i32 {
    LAST_CODE.get()
}

pub(crate) fn take_last_code() -> i32 {
    LAST_CODE.replace(0)
}
