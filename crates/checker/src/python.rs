//! Frames of a Python program, read from the interpreter in the process, if there is one.
//!
//! The interpreter's functions are found by name at run time, so the library does not depend on Python. Only a thread
//! that holds the GIL may call them. The module `acl` releases the GIL in calls that can block, and saves the frames
//! before it does (`save_frames`). Other extensions do not: for a thread that has released the GIL, a helper thread
//! takes it and reads the frames while the first thread waits, at most `FRAME_TIMEOUT`. The first thread must not
//! take the GIL, because its holder may be waiting for this thread.
//!
//! A library that queues its calls takes the frames where the program calls it (`Place::take`), and its queue thread
//! uses them while it makes the call (`Place::enter`).

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of frames.
const MAX_FRAMES: usize = 6;
/// Maximum number of frames that are looked at.
const MAX_DEPTH: usize = 64;
/// Frames of these packages are left out: a program wants its own line, not that of `torch.nn.Module.__call__`.
const LEFT_OUT: [&str; 3] = ["/site-packages/torch/", "/site-packages/torch_npu/", "/softacl/torch/"];
/// Maximum time that a thread waits for its frames.
const FRAME_TIMEOUT: Duration = Duration::from_millis(100);

/// A Python frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) file: String,
    pub(crate) function: String,
    pub(crate) line: u32,
}

thread_local! {
    static SAVED: RefCell<SavedFrames> = RefCell::default();
}

/// Frames that a thread saved before it released the GIL.
#[derive(Default)]
struct SavedFrames {
    frames: Box<[Line]>,
    /// The call that the frames were saved for has not started.
    is_fresh: bool,
    /// The frames are those of every call until the thread leaves the place.
    is_place: bool,
}

/// Python frames of one thread, for the calls that another thread makes on its behalf.
#[derive(Debug)]
pub struct Place(Box<[Line]>);

impl Place {
    /// The frames of the calling thread. `None` if it runs no Python code.
    pub fn take() -> Option<Place> {
        Some(lines_outside_call()).filter(|frames| !frames.is_empty()).map(Place)
    }

    /// From here on, calls of this thread are located at this place.
    pub fn enter(&self) {
        let _ = SAVED
            .try_with(|saved| saved.replace(SavedFrames { frames: self.0.clone(), is_fresh: false, is_place: true }));
    }

    /// Ends the place that this thread has entered.
    pub fn leave() {
        let _ = SAVED.try_with(|saved| saved.take());
    }
}

/// Saves the Python frames of the calling thread for its next API call.
pub fn save_frames() {
    // The thread-local value of an ending thread is already destroyed.
    let _ = SAVED.try_with(|saved| saved.replace(SavedFrames { frames: frames(), is_fresh: true, is_place: false }));
}

/// Records that the calling thread enters a call. Drops frames that were saved for an earlier one.
pub(crate) fn enter() {
    let _ = SAVED.try_with(|saved| {
        let mut saved = saved.borrow_mut();
        if !std::mem::take(&mut saved.is_fresh) && !saved.is_place && !saved.frames.is_empty() {
            saved.frames = Box::default();
        }
    });
}

/// Frames of the calling thread inside an API call, innermost first. Empty without Python.
pub(crate) fn lines() -> Box<[Line]> {
    let frames = frames();
    if !frames.is_empty() {
        return frames;
    }
    let saved = SAVED.try_with(|saved| saved.borrow().frames.clone()).unwrap_or_default();
    if saved.is_empty() { frames_without_gil() } else { saved }
}

/// Frames of the calling thread outside of API calls. Saved frames are not used.
pub(crate) fn lines_outside_call() -> Box<[Line]> {
    let frames = frames();
    if frames.is_empty() { frames_without_gil() } else { frames }
}

struct Interpreter {
    holds_gil: unsafe extern "C" fn() -> c_int,
    frame: unsafe extern "C" fn() -> *mut c_void,
    back: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    code: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    line: unsafe extern "C" fn(*mut c_void) -> c_int,
    attribute: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void,
    text: unsafe extern "C" fn(*mut c_void, *mut isize) -> *const c_char,
    incref: unsafe extern "C" fn(*mut c_void),
    decref: unsafe extern "C" fn(*mut c_void),
    clear: unsafe extern "C" fn(),
    is_initialized: unsafe extern "C" fn() -> c_int,
    is_finalizing: unsafe extern "C" fn() -> c_int,
    thread_state: unsafe extern "C" fn() -> *mut c_void,
    frame_of: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    acquire_gil: unsafe extern "C" fn() -> c_int,
    release_gil: unsafe extern "C" fn(c_int),
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
            // SAFETY: looks up a name in the loaded libraries.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, $name.as_ptr()) };
            if found.is_null() {
                return None;
            }
            // SAFETY: the functions of these names have these types in every Python from 3.9 on.
            unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
        }};
    }
    // Public since 3.13.
    let ending = [c"Py_IsFinalizing", c"_Py_IsFinalizing"].into_iter().find_map(|name| {
        // SAFETY: looks up a name in the loaded libraries.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: both take nothing and return an int.
        (!found.is_null())
            .then(|| unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(found) })
    });
    Some(Interpreter {
        holds_gil: symbol!(c"PyGILState_Check", unsafe extern "C" fn() -> c_int),
        frame: symbol!(c"PyEval_GetFrame", unsafe extern "C" fn() -> *mut c_void),
        back: symbol!(c"PyFrame_GetBack", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        code: symbol!(c"PyFrame_GetCode", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        line: symbol!(c"PyFrame_GetLineNumber", unsafe extern "C" fn(*mut c_void) -> c_int),
        attribute: symbol!(c"PyObject_GetAttrString", unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void),
        text: symbol!(c"PyUnicode_AsUTF8AndSize", unsafe extern "C" fn(*mut c_void, *mut isize) -> *const c_char),
        incref: symbol!(c"Py_IncRef", unsafe extern "C" fn(*mut c_void)),
        decref: symbol!(c"Py_DecRef", unsafe extern "C" fn(*mut c_void)),
        clear: symbol!(c"PyErr_Clear", unsafe extern "C" fn()),
        is_initialized: symbol!(c"Py_IsInitialized", unsafe extern "C" fn() -> c_int),
        is_finalizing: ending?,
        thread_state: symbol!(c"PyGILState_GetThisThreadState", unsafe extern "C" fn() -> *mut c_void),
        frame_of: symbol!(c"PyThreadState_GetFrame", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        acquire_gil: symbol!(c"PyGILState_Ensure", unsafe extern "C" fn() -> c_int),
        release_gil: symbol!(c"PyGILState_Release", unsafe extern "C" fn(c_int)),
        main: symbol!(c"PyInterpreterState_Main", unsafe extern "C" fn() -> *mut c_void),
        first_state: symbol!(c"PyInterpreterState_ThreadHead", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
        next_state: symbol!(c"PyThreadState_Next", unsafe extern "C" fn(*mut c_void) -> *mut c_void),
    })
}

/// Frames of the calling thread if it holds the GIL.
pub(crate) fn frames() -> Box<[Line]> {
    let Some(python) = interpreter() else { return Box::default() };
    // SAFETY: the GIL is held, as checked first. The frame is borrowed, so a reference is added.
    unsafe {
        if (python.holds_gil)() == 0 {
            return Box::default();
        }
        let frame = (python.frame)();
        (python.incref)(frame);
        python.lines_from(frame)
    }
}

/// Request of a thread that has released the GIL.
struct FrameRequest {
    state: usize,
    answer: Arc<Answer>,
}

#[derive(Default)]
struct Answer {
    lines: Mutex<Box<[Line]>>,
    is_ready: AtomicBool,
}

/// Frames of the calling thread if it has released the GIL. Also called in signal handlers: it waits for the helper
/// thread, at most `FRAME_TIMEOUT`.
pub(crate) fn frames_without_gil() -> Box<[Line]> {
    let Some(python) = interpreter() else { return Box::default() };
    if !python.is_running() {
        return Box::default();
    }
    // SAFETY: any thread may call it.
    let state = unsafe { (python.thread_state)() };
    // SAFETY: as above. A thread that holds the GIL has no frames, otherwise `frames` had returned them.
    if state.is_null() || unsafe { (python.holds_gil)() } != 0 {
        return Box::default();
    }
    let answer = Arc::new(Answer::default());
    let request = FrameRequest { state: state as usize, answer: Arc::clone(&answer) };
    if gil_helper().is_none_or(|helper| helper.send(request).is_err()) {
        return Box::default();
    }
    let start = Instant::now();
    while !answer.is_ready.load(Ordering::Acquire) {
        if start.elapsed() > FRAME_TIMEOUT {
            return Box::default();
        }
        thread::yield_now();
    }
    std::mem::take(&mut *answer.lines.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Channel to the thread that takes the GIL on behalf of others.
fn gil_helper() -> Option<Sender<FrameRequest>> {
    static HELPER: OnceLock<Option<Mutex<Sender<FrameRequest>>>> = OnceLock::new();
    let helper = HELPER.get_or_init(|| {
        let (sender, requests) = channel::<FrameRequest>();
        let serve = move || requests.iter().for_each(|request| serve_request(&request));
        thread::Builder::new().name("softacl-frames".to_owned()).spawn(serve).ok()?;
        Some(Mutex::new(sender))
    });
    Some(helper.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn serve_request(request: &FrameRequest) {
    let Some(python) = interpreter().filter(|python| python.is_running()) else { return };
    // SAFETY: this thread takes and releases the GIL. While it is held, no interpreter thread starts or ends, so a
    // state in the list is alive. `frame_of` returns a new reference, which `lines_from` releases.
    let lines = unsafe {
        let held = (python.acquire_gil)();
        let mut state = (python.first_state)((python.main)());
        while !state.is_null() && state as usize != request.state {
            state = (python.next_state)(state);
        }
        let lines = if state.is_null() { Box::default() } else { python.lines_from((python.frame_of)(state)) };
        (python.release_gil)(held);
        lines
    };
    *request.answer.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    request.answer.is_ready.store(true, Ordering::Release);
}

impl Interpreter {
    /// Returns `false` if the interpreter is not running. A finalizing interpreter ends threads that request the GIL.
    fn is_running(&self) -> bool {
        // SAFETY: any thread may call both.
        unsafe { (self.is_initialized)() != 0 && (self.is_finalizing)() == 0 }
    }

    /// Reads the lines from a frame outwards.
    ///
    /// # Safety
    ///
    /// The GIL is held, and `frame` is null or an owned reference, which this function releases.
    unsafe fn lines_from(&self, mut frame: *mut c_void) -> Box<[Line]> {
        let mut lines = Vec::new();
        let mut innermost = None;
        let mut depth = 0;
        // SAFETY: guaranteed by the caller; every new reference is released.
        unsafe {
            while !frame.is_null() && lines.len() < MAX_FRAMES && depth < MAX_DEPTH {
                depth += 1;
                let code = (self.code)(frame);
                let line = (self.line)(frame).max(0) as u32;
                let file = self.text_of(code, c"co_filename");
                let function = self.text_of(code, c"co_name");
                (self.decref)(code);
                let is_left_out = LEFT_OUT.iter().any(|package| file.contains(package));
                let found = Line { file, function, line };
                if !is_left_out {
                    lines.push(found);
                } else if innermost.is_none() {
                    innermost = Some(found);
                }
                let back = (self.back)(frame);
                (self.decref)(frame);
                frame = back;
            }
            (self.decref)(frame);
        }
        if lines.is_empty() {
            lines.extend(innermost);
        }
        lines.into()
    }

    /// Reads an attribute as text.
    ///
    /// # Safety
    ///
    /// The GIL is held and `object` is alive.
    unsafe fn text_of(&self, object: *mut c_void, name: &CStr) -> String {
        // SAFETY: guaranteed by the caller; the text is valid while `value` is alive.
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
            (self.decref)(value);
            copy
        }
    }
}
