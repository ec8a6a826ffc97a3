//! The frames of a Python program, asked from the interpreter that is in the process, if there is one.
//!
//! Found by name at run time, so that the library needs no Python. The interpreter may be asked only
//! by a thread that holds its lock. The module `acl` lets go of it in calls that can block, and
//! therefore leaves a note before. Other extensions leave none: for a thread of theirs that has let go, a thread
//! of ours takes the lock and looks, while the first one waits, but not long. It must not take the lock itself:
//! whoever has it may be waiting for this very thread.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Frames that are kept.
const DEPTH: usize = 6;
/// How long a thread waits for its frames.
const FRAME_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) file: String,
    pub(crate) function: String,
    pub(crate) line: u32,
}

thread_local! {
    static NOTE: RefCell<SavedFrames> = RefCell::default();
}

/// Where a thread was before it let go of the lock.
#[derive(Default)]
struct SavedFrames {
    frames: Box<[Line]>,
    /// The call that it was left for has not begun.
    is_fresh: bool,
}

/// Keeps the frames of the calling thread for the call that comes next.
pub fn save_frames() {
    // A thread that is about to end has no notes any more.
    let _ = NOTE.try_with(|note| note.replace(SavedFrames { frames: frames(), is_fresh: true }));
}

/// The calling thread enters a call: a note that was left for another one is of no use.
pub(crate) fn enter() {
    let _ = NOTE.try_with(|note| {
        let mut note = note.borrow_mut();
        if !std::mem::take(&mut note.is_fresh) && !note.frames.is_empty() {
            note.frames = Box::default();
        }
    });
}

/// The frames of the calling thread in a call, innermost first; empty without Python.
pub(crate) fn lines() -> Box<[Line]> {
    let frames = frames();
    if !frames.is_empty() {
        return frames;
    }
    let note = NOTE.try_with(|note| note.borrow().frames.clone()).unwrap_or_default();
    if note.is_empty() { frames_without_lock() } else { note }
}

/// The same outside of calls.
pub(crate) fn lines_outside() -> Box<[Line]> {
    let frames = frames();
    if frames.is_empty() { frames_without_lock() } else { frames }
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
    is_there: unsafe extern "C" fn() -> c_int,
    is_ending: unsafe extern "C" fn() -> c_int,
    own_state: unsafe extern "C" fn() -> *mut c_void,
    frame_of: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    take_lock: unsafe extern "C" fn() -> c_int,
    release_lock: unsafe extern "C" fn(c_int),
    main: unsafe extern "C" fn() -> *mut c_void,
    first_state: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    next_state: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
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
    // It has a public name since 3.13.
    let ending = [c"Py_IsFinalizing", c"_Py_IsFinalizing"].into_iter().find_map(|name| {
        // SAFETY: looks a name up in what is loaded already.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: both take nothing and return an int.
        (!found.is_null())
            .then(|| unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(found) })
    });
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
        is_there: symbol!(c"Py_IsInitialized", unsafe extern "C" fn() -> c_int),
        is_ending: ending?,
        own_state: symbol!(c"PyGILState_GetThisThreadState", unsafe extern "C" fn() -> *mut c_void),
        frame_of: symbol!(c"PyThreadState_GetFrame", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        take_lock: symbol!(c"PyGILState_Ensure", unsafe extern "C" fn() -> c_int),
        release_lock: symbol!(c"PyGILState_Release", unsafe extern "C" fn(c_int)),
        main: symbol!(c"PyInterpreterState_Main", unsafe extern "C" fn() -> *mut c_void),
        first_state: symbol!(c"PyInterpreterState_ThreadHead", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        next_state: symbol!(c"PyThreadState_Next", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
    })
}

pub(crate) fn frames() -> Box<[Line]> {
    let Some(python) = interpreter() else { return Box::default() };
    // SAFETY: this thread holds the interpreter's lock, as asked first; the frame is borrowed, and kept.
    unsafe {
        if (python.holds_lock)() == 0 {
            return Box::default();
        }
        let frame = (python.frame)();
        (python.keep)(frame);
        python.lines_from(frame)
    }
}

/// A question of a thread that has let go of the lock: its state, and whether it still waits.
struct FrameRequest {
    state: usize,
    answer: Arc<Answer>,
}

#[derive(Default)]
struct Answer {
    lines: Mutex<Box<[Line]>>,
    is_there: AtomicBool,
}

/// The frames of the calling thread when it has let go of the lock. Also in a signal handler: what it waits for
/// is another thread, and not for long.
pub(crate) fn frames_without_lock() -> Box<[Line]> {
    let Some(python) = interpreter() else { return Box::default() };
    if !python.can_be_locked() {
        return Box::default();
    }
    // SAFETY: can be asked by any thread.
    let state = unsafe { (python.own_state)() };
    // SAFETY: as above. A thread that holds the lock was asked already, and has no frames.
    if state.is_null() || unsafe { (python.holds_lock)() } != 0 {
        return Box::default();
    }
    let answer = Arc::new(Answer::default());
    let question = FrameRequest { state: state as usize, answer: Arc::clone(&answer) };
    if gil_helper().is_none_or(|asker| asker.send(question).is_err()) {
        return Box::default();
    }
    let asked = Instant::now();
    while !answer.is_there.load(Ordering::Acquire) {
        if asked.elapsed() > FRAME_TIMEOUT {
            return Box::default();
        }
        thread::yield_now();
    }
    std::mem::take(&mut *answer.lines.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The thread that takes the lock for others.
fn gil_helper() -> Option<Sender<FrameRequest>> {
    static ASKER: OnceLock<Option<Mutex<Sender<FrameRequest>>>> = OnceLock::new();
    let asker = ASKER.get_or_init(|| {
        let (sender, questions) = channel::<FrameRequest>();
        let answer_all = move || questions.iter().for_each(|question| answer(&question));
        thread::Builder::new().name("softacl-frames".to_owned()).spawn(answer_all).ok()?;
        Some(Mutex::new(sender))
    });
    Some(asker.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn answer(question: &FrameRequest) {
    let Some(python) = interpreter().filter(|python| python.can_be_locked()) else { return };
    // SAFETY: the lock is taken and given back by this thread alone. While it is held no thread of the interpreter
    // comes or goes, so a state that is in the list is alive; the frame is ours, and released.
    let lines = unsafe {
        let held = (python.take_lock)();
        let mut state = (python.first_state)((python.main)());
        while !state.is_null() && state as usize != question.state {
            state = (python.next_state)(state);
        }
        let lines = if state.is_null() { Box::default() } else { python.lines_from((python.frame_of)(state)) };
        (python.release_lock)(held);
        lines
    };
    *question.answer.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    question.answer.is_there.store(true, Ordering::Release);
}

impl Interpreter {
    /// An interpreter that is coming to its end ends threads that ask for its lock.
    fn can_be_locked(&self) -> bool {
        // SAFETY: both can be asked by any thread.
        unsafe { (self.is_there)() != 0 && (self.is_ending)() == 0 }
    }

    /// The lines from a frame outwards. SAFETY: the lock is held, and the frame is NULL or a reference that is
    /// given away.
    unsafe fn lines_from(&self, mut frame: *mut c_void) -> Box<[Line]> {
        let mut lines = Vec::new();
        // SAFETY: as the caller promises; every reference that is returned as new is released.
        unsafe {
            while !frame.is_null() && lines.len() < DEPTH {
                let code = (self.code)(frame);
                let line = (self.line)(frame).max(0) as u32;
                let file = self.text_of(code, c"co_filename");
                let function = self.text_of(code, c"co_name");
                (self.release)(code);
                lines.push(Line { file, function, line });
                let back = (self.back)(frame);
                (self.release)(frame);
                frame = back;
            }
            (self.release)(frame);
        }
        lines.into()
    }

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
