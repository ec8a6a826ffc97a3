//! Groups of calls: what a thread calls between `HcclGroupStart` and `HcclGroupEnd` takes effect at the end. Sends and
//! receives of one communicator and stream then do not block each other, and one thread can make several ranks join.

use crate::communicator::{Communicator, Handle, insert};
use crate::config::Config;
use crate::failure::{Failure, HcclResult};
use crate::plan::Plan;
use crate::point::{self, Point};
use crate::program;
use crate::runtime::{Range, runtime};
use crate::status::enter;
use softacl_carrier::meeting::{Attendance, Meeting};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Group {
    depth: usize,
    deferred: Vec<Deferred>,
}

/// A call that waits for the end of its group.
enum Deferred {
    Collective { communicator: Arc<Communicator>, plan: Plan, ranges: Vec<Range>, name: &'static str, place: Place },
    Point { communicator: Arc<Communicator>, point: Point, place: Place },
    Join(Box<Join>),
}

/// Where a call belongs. One thread may call for the streams of several devices, one after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    stream: *mut c_void,
    /// The context that the thread had.
    context: *mut c_void,
}

impl Place {
    fn new(stream: *mut c_void) -> Result<Place, Failure> {
        Ok(Place { stream, context: runtime()?.context() })
    }

    fn run(self, launch: impl FnOnce(*mut c_void) -> Result<(), Failure>) -> Result<(), Failure> {
        runtime()?.in_context(self.context, || launch(self.stream))
    }
}

/// A rank that has taken its place and waits for the others.
pub struct Join {
    attendance: Attendance,
    name: String,
    config: Config,
    is_sub: bool,
    /// Where the handle goes.
    target: *mut Handle,
    convened: Convened,
}

impl Join {
    pub fn new(attendance: Attendance, name: String, config: Config, is_sub: bool, target: *mut Handle) -> Join {
        let convened = Convened(attendance.nonce());
        Join { attendance, name, config, is_sub, target, convened }
    }

    /// Waits for the other ranks and returns the handle to the program.
    fn complete(self) -> Result<(), Failure> {
        let Join { attendance, name, config, is_sub, target, convened: _convened } = self;
        let group = attendance.complete(config.connect_timeout)?;
        program::write(target, insert(Communicator::new(name, group, config, is_sub)), "comm")
    }
}

/// Meetings that this process convened by a root info, by nonce. A key leads to a file that a process has open, so it is
/// kept open until all ranks have come.
static CONVENED: LazyLock<Mutex<HashMap<u64, Meeting>>> = LazyLock::new(Mutex::default);

fn lock_convened() -> MutexGuard<'static, HashMap<u64, Meeting>> {
    CONVENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The meeting at which a rank of this process has been. Once the rank has met the others, or will not anymore, no rank can
/// join, and the meeting is closed if it was convened here.
struct Convened(u64);

impl Drop for Convened {
    fn drop(&mut self) {
        lock_convened().remove(&self.0);
    }
}

/// Keeps a meeting open until all of its ranks have come.
pub fn keep_open(meeting: Meeting) {
    lock_convened().insert(meeting.key().nonce, meeting);
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Keeps a call for the end of the group. Returns it if the thread has no group.
fn defer(call: Deferred) -> Option<Deferred> {
    GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return Some(call);
        }
        group.deferred.push(call);
        None
    })
}

/// True if the calling thread has a group.
fn has_group() -> bool {
    GROUP.with_borrow(|group| group.depth > 0)
}

/// Queues a collective, now or at the end of the group.
pub fn launch(
    communicator: &Arc<Communicator>,
    plan: Plan,
    ranges: &[Range],
    name: &'static str,
    stream: *mut c_void,
) -> Result<(), Failure> {
    if !has_group() {
        return crate::launch::launch(communicator, plan, ranges, name, stream);
    }
    let (communicator, place) = (Arc::clone(communicator), Place::new(stream)?);
    let call = Deferred::Collective { communicator, plan, ranges: ranges.to_vec(), name, place };
    defer(call).map_or(Ok(()), run)
}

/// Keeps a send or receive for the end of the group. Returns `false` if the thread has no group.
pub fn defer_point(communicator: &Arc<Communicator>, point: Point, stream: *mut c_void) -> Result<bool, Failure> {
    if !has_group() {
        return Ok(false);
    }
    let (communicator, place) = (Arc::clone(communicator), Place::new(stream)?);
    Ok(defer(Deferred::Point { communicator, point, place }).is_none())
}

/// Waits for the other ranks of a new communicator, now or at the end of the group.
pub fn join(join: Join) -> Result<(), Failure> {
    defer(Deferred::Join(Box::new(join))).map_or(Ok(()), run)
}

fn run(call: Deferred) -> Result<(), Failure> {
    match call {
        Deferred::Collective { communicator, plan, ranges, name, place } => {
            place.run(|stream| crate::launch::launch(&communicator, plan, &ranges, name, stream))
        }
        Deferred::Point { communicator, point, place } => {
            place.run(|stream| point::launch(&communicator, &[point], "HcclGroup", stream))
        }
        Deferred::Join(join) => join.complete(),
    }
}

/// Runs the calls of a group. Sends and receives of one communicator and stream become one task.
fn run_group(mut calls: Vec<Deferred>) -> Result<(), Failure> {
    while !calls.is_empty() {
        let call = calls.remove(0);
        let Deferred::Point { communicator, point, place } = call else {
            run(call)?;
            continue;
        };
        let mut points = vec![point];
        calls.retain(|other| match other {
            Deferred::Point { communicator: theirs, point, place: on }
                if Arc::ptr_eq(theirs, &communicator) && *on == place =>
            {
                points.push(*point);
                false
            }
            _ => true,
        });
        place.run(|stream| point::launch(&communicator, &points, "HcclGroup", stream))?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn HcclGroupStart() -> HcclResult {
    enter("HcclGroupStart", || {
        GROUP.with_borrow_mut(|group| group.depth += 1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn HcclGroupEnd() -> HcclResult {
    enter("HcclGroupEnd", || {
        let calls = GROUP.with_borrow_mut(|group| match group.depth {
            0 => Err(Failure::Parameter("this thread has no group: HcclGroupStart was not called".to_owned())),
            1 => {
                group.depth = 0;
                Ok(std::mem::take(&mut group.deferred))
            }
            _ => {
                group.depth -= 1;
                Ok(Vec::new())
            }
        })?;
        run_group(calls)
    })
}
