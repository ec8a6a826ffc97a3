//! The frames of a Python program, asked from the interpreter that is in the process, if there is one.
//!
//! Found by name at run time, so that the library needs no Python. The interpreter may be asked only
//! by a thread that holds its lock. The module `acl` lets go of it in calls that can block, and
//! therefore leaves a note before.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Frames that are kept.
const DEPTH: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) file: String,
    pub(crate) function: String,
    pub(crate) line: u32,
}

thread_local! {
    static NOTE: RefCell<Box<[Line]>> = RefCell::default();
}

/// Keeps the frames of the calling thread for the call that comes next.
pub fn leave_note() {
    // A thread that is about to end has no notes any more.
    let _ = NOTE.try_with(|note| note.replace(frames()));
}

/// The frames of the calling thread, innermost first; empty without Python.
pub(crate) fn lines() -> Box<[Line]> {
    let frames = frames();
    if !frames.is_empty() {
        return frames;
    }
    NOTE.try_with(|note| note.borrow().clone()).unwrap_or_default()
}

struct Interpreter {
    holds_lock: unsafe extern "C" fn() -> c_int,
    frame: unsafe extern "C" fn() -> *mut c_void,
    back: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    code: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    line: unsafe extern "C" fn(*mut c_void) -> c_int,
    attribute: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void,
    text: unsafe extern "C" fn(*mut c_void, *mut isize) -> *const c_char,
    keep: unsafe extern "C" fn(*mut c_void),
    release: unsafe extern "C" fn(*mut c_void),
    clear: unsafe extern "C" fn(),
}

fn interpreter() -> Option<&'static Interpreter> {
    static FOUND: OnceLock<Option<Interpreter>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref()
}

fn find() -> Option<Interpreter> {
    macro_rules! symbol {
        ($name:literal, $type:ty) => {{
            // SAFETY: looks a name up in what is loaded already.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, $name.as_ptr()) };
            if found.is_null() {
                return None;
            }
            // SAFETY: the functions of these names have these types in every Python from 3.9 on.
            unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
        }};
    }
    Some(Interpreter {
        holds_lock: symbol!(c"PyGILState_Check", unsafe extern "C" fn() -> c_int),
        frame: symbol!(c"PyEval_GetFrame", unsafe extern "C" fn() -> *mut c_void),
        back: symbol!(c"PyFrame_GetBack", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        code: symbol!(c"PyFrame_GetCode", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        line: symbol!(c"PyFrame_GetLineNumber", unsafe extern "C" fn(*mut c_void) -> c_int),
        attribute: symbol!(c"PyObject_GetAttrString", unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void),
        text: symbol!(c"PyUnicode_AsUTF8AndSize", unsafe extern "C" fn(*mut c_void, *mut isize) -> *const c_char),
        keep: symbol!(c"Py_IncRef", unsafe extern "C" fn(*mut c_void)),
        release: symbol!(c"Py_DecRef", unsafe extern "C" fn(*mut c_void)),
        clear: symbol!(c"PyErr_Clear", unsafe extern "C" fn()),
    })
}

pub(crate) fn frames() -> Box<[Line]> {
    let Some(python) = interpreter() else { return Box::default() };
    let mut lines = Vec::new();
    // SAFETY: this thread holds the interpreter's lock, as asked first; every reference that is
    // returned as new is released, the one that is borrowed is kept before.
    unsafe {
        if (python.holds_lock)() == 0 {
            return Box::default();
        }
        let mut frame = (python.frame)();
        (python.keep)(frame);
        while !frame.is_null() && lines.len() < DEPTH {
            let code = (python.code)(frame);
            let line = (python.line)(frame).max(0) as u32;
            let file = python.text_of(code, c"co_filename");
            let function = python.text_of(code, c"co_name");
            (python.release)(code);
            lines.push(Line { file, function, line });
            let back = (python.back)(frame);
            (python.release)(frame);
            frame = back;
        }
        (python.release)(frame);
    }
    lines.into()
}

impl Interpreter {
    /// SAFETY: the interpreter's lock is held and `object` is alive.
    unsafe fn text_of(&self, object: *mut c_void, name: &CStr) -> String {
        // SAFETY: as the caller promises; the text lives as long as the value that it belongs to.
        unsafe {
            let value = (self.attribute)(object, name.as_ptr());
            if value.is_null() {
                (self.clear)();
                return String::new();
            }
            let mut len = 0;
            let text = (self.text)(value, &mut len);
            let copy = if text.is_null() {
                (self.clear)();
                String::new()
            } else {
                String::from_utf8_lossy(std::slice::from_raw_parts(text.cast(), len as usize)).into_owned()
            };
            (self.release)(value);
            copy
        }
    }
}
