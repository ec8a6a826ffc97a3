//! Marks of the program on the timeline: points, ranges and steps.
//!
//! They reach the tracer if there is one, under `softacl trace` or in a profile; otherwise they have no effect. What
//! the program passes is checked in any case.

use crate::argument::{InPtr, NonNullArg, OutPtr, TextPtr};
use crate::entry::{export, value};
use crate::object::{self, Object};
use ascendcl_sys::*;
use softacl_engine::observer::Mark;
use softacl_engine::{Error, Machine, Result, fail};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum length of the text of a mark.
const MAX_TEXT: usize = 64 << 10;
/// The name of ranges whose text cannot be read.
const UNNAMED: &str = "range";
/// The text of a stamp for which the program has set none.
const NO_MESSAGE: &str = "stamp";

/// The object behind a stamp.
struct Stamp(String);

impl Object for Stamp {
    const NAME: &'static str = "stamp";
}

/// The object behind an `aclprofStepInfo*`. Its times are on the timeline only.
struct Step;

impl Object for Step {
    const NAME: &'static str = "step information object";
}

/// Ranges that a thread has opened and not closed, innermost last.
#[derive(Default)]
struct OpenRanges {
    /// Of `aclprofPush`.
    stamped: Vec<u64>,
    /// Of `aclprofRangePushEx`.
    attributed: Vec<u64>,
}

thread_local! {
    static OPEN: RefCell<OpenRanges> = RefCell::default();
}

static NEXT_RANGE: AtomicU64 = AtomicU64::new(1);
/// Open ranges of `aclprofRangeStart`, which any thread may close, by the number that the program has.
static STARTED: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());

fn emit(machine: &Machine, mark: &Mark<'_>) {
    if let Some(observer) = machine.observer() {
        observer.marked(mark);
    }
    // A phase of the timing model lasts until the next mark.
    if let Mark::Point(text) | Mark::Opened { text, .. } = mark {
        machine.begin_phase(text);
    }
}

/// Opens a nested range of this thread.
fn open(machine: &Machine, text: &str, list: impl FnOnce(&mut OpenRanges) -> &mut Vec<u64>) {
    let range = NEXT_RANGE.fetch_add(1, Ordering::Relaxed);
    OPEN.with_borrow_mut(|ranges| list(ranges).push(range));
    emit(machine, &Mark::Opened { range, text, is_nested: true });
}

/// Closes the innermost range of a list of this thread.
fn close(machine: &Machine, list: impl FnOnce(&mut OpenRanges) -> &mut Vec<u64>) -> Result<()> {
    match OPEN.with_borrow_mut(|ranges| list(ranges).pop()) {
        Some(range) => {
            emit(machine, &Mark::Closed { range });
            Ok(())
        }
        None => fail(Error::Argument("this thread has no open range".to_owned())),
    }
}

fn text_of(stamp: *const c_void) -> Result<String> {
    object::with(stamp, |stamp: &mut Stamp| stamp.0.clone())
}

/// Reads a text of `length` bytes, which need not end with a zero.
fn message(text: InPtr<u8>, length: usize) -> Result<String> {
    if length > MAX_TEXT {
        return fail(Error::Argument(format!("the text has {length} bytes, more than {MAX_TEXT}")));
    }
    let bytes = text.copy(length, "a text")?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
}

#[unsafe(no_mangle)]
pub extern "C" fn aclprofCreateStamp() -> *mut c_void {
    value(rows::aclprofCreateStamp, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(Stamp(NO_MESSAGE.to_owned()))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn aclprofDestroyStamp(stamp: *mut c_void) {
    value(rows::aclprofDestroyStamp, (), |_| object::destroy::<Stamp>(stamp).map(drop));
}

#[unsafe(no_mangle)]
pub extern "C" fn aclprofCreateStepInfo() -> *mut c_void {
    value(rows::aclprofCreateStepInfo, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(Step)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn aclprofDestroyStepInfo(step: *mut c_void) {
    value(rows::aclprofDestroyStepInfo, (), |_| object::destroy::<Step>(step).map(drop));
}

/// Returns a hash of the text (FNV-1a), and 0 if it cannot be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofStr2Id(text: *const c_char) -> u64 {
    use crate::argument::Argument as _;
    value(rows::aclprofStr2Id, 0, |call| {
        call.require_supported()?;
        // SAFETY: the argument of this call, which the program permits to read.
        let text = unsafe { TextPtr::<*const c_char>::from_program(text, "message") }?.read()?;
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Ok(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    })
}

export! {
    fn aclprofSetStampTraceMessage(stamp: *mut c_void, text: InPtr<u8>, length: u32) |call| {
        call.require_supported()?;
        let text = message(text, length as usize)?;
        object::with(stamp, |stamp: &mut Stamp| stamp.0 = text)
    }

    fn aclprofMark(stamp: *mut c_void) |call| {
        call.require_supported()?;
        emit(call.machine(), &Mark::Point(&text_of(stamp)?));
        Ok(())
    }

    fn aclprofMarkEx(text: InPtr<u8>, length: usize, stream: aclrtStream) |call| {
        call.require_supported()?;
        let text = message(text, length)?;
        call.queue_mark(&text, stream as usize)?;
        emit(call.machine(), &Mark::Point(&text));
        Ok(())
    }

    fn aclprofPush(stamp: *mut c_void) |call| {
        call.require_supported()?;
        open(call.machine(), &text_of(stamp)?, |ranges| &mut ranges.stamped);
        Ok(())
    }

    fn aclprofPop() |call| {
        call.require_supported()?;
        close(call.machine(), |ranges| &mut ranges.stamped)
    }

    fn aclprofRangeStart(stamp: *mut c_void, id: OutPtr<u32>) |call| {
        call.require_supported()?;
        let text = text_of(stamp)?;
        let range = NEXT_RANGE.fetch_add(1, Ordering::Relaxed);
        id.set(range as u32)?;
        STARTED.lock().unwrap_or_else(PoisonError::into_inner).insert(range as u32, range);
        emit(call.machine(), &Mark::Opened { range, text: &text, is_nested: false });
        Ok(())
    }

    fn aclprofRangeStop(id: u32) |call| {
        call.require_supported()?;
        let Some(range) = STARTED.lock().unwrap_or_else(PoisonError::into_inner).remove(&id) else {
            return fail(Error::Argument(format!("range {id} is not open")));
        };
        emit(call.machine(), &Mark::Closed { range });
        Ok(())
    }

    /// The layout of the attributes is not public, so the range has no text.
    fn aclprofRangePushEx(_attributes: NonNullArg) |call| {
        call.require_supported()?;
        open(call.machine(), UNNAMED, |ranges| &mut ranges.attributed);
        Ok(())
    }

    fn aclprofRangePop() |call| {
        call.require_supported()?;
        close(call.machine(), |ranges| &mut ranges.attributed)
    }

    fn aclprofGetStepTimestamp(step: *mut c_void, tag: i32, stream: aclrtStream) |call| {
        call.require_supported()?;
        object::with(step, |_: &mut Step| ())?;
        let text = match tag {
            ACL_STEP_START => "step start",
            ACL_STEP_END => "step end",
            _ => return fail(Error::Argument(format!("tag {tag} is neither ACL_STEP_START nor ACL_STEP_END"))),
        };
        call.queue_mark(text, stream as usize)
    }
}
