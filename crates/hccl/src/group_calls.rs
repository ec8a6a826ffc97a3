//! Groups of calls: what a thread calls between `HcclGroupStart` and `HcclGroupEnd` takes effect at the end. Sends and
//! receives of one communicator and stream then do not block each other, and one thread can make several ranks join.

use crate::communicator::{Communicator, Handle, insert};
use crate::config::Config;
use crate::failure::{Failure, HcclResult};
use crate::plan::Plan;
use crate::point::{self, Point};
use crate::program;
use crate::runtime::Range;
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
    Collective { communicator: Arc<Communicator>, plan: Plan, ranges: Vec<Range>, name: &'static str, stream: usize },
    Point { communicator: Arc<Communicator>, point: Point, stream: usize },
    Join(Box<Join>),
}

/// A rank that has taken its place and waits for the others.
pub struct Join {
    pub attendance: Attendance,
    pub name: String,
    pub config: Config,
    pub is_sub: bool,
    /// Where the handle goes.
    pub target: *mut Handle,
}

impl Join {
    /// Waits for the other ranks and returns the handle to the program.
    fn complete(self) -> Result<(), Failure> {
        let Join { attendance, name, config, is_sub, target } = self;
        let completed = attendance.complete(config.connect_timeout);
        if let Ok(group) = &completed {
            lock_convened().remove(&group.nonce());
        }
        let group = completed?;
        program::write(target, insert(Communicator::new(name, group, config, is_sub)), "comm")
    }
}

/// Meetings that this process convened by a root info, by nonce. A key leads to a file that a process has open, so it is
/// kept open until all ranks have come.
static CONVENED: LazyLock<Mutex<HashMap<u64, Meeting>>> = LazyLock::new(Mutex::default);

fn lock_convened() -> MutexGuard<'static, HashMap<u64, Meeting>> {
    CONVENED.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Queues a collective, now or at the end of the group.
pub fn launch(
    communicator: &Arc<Communicator>,
    plan: Plan,
    ranges: &[Range],
    name: &'static str,
    stream: *mut c_void,
) -> Result<(), Failure> {
    let communicator = Arc::clone(communicator);
    let call = Deferred::Collective { communicator, plan, ranges: ranges.to_vec(), name, stream: stream as usize };
    defer(call).map_or(Ok(()), run)
}

/// Keeps a send or receive for the end of the group. Returns `false` if the thread has no group.
pub fn defer_point(communicator: &Arc<Communicator>, point: Point, stream: *mut c_void) -> bool {
    let communicator = Arc::clone(communicator);
    defer(Deferred::Point { communicator, point, stream: stream as usize }).is_none()
}

/// Waits for the other ranks of a new communicator, now or at the end of the group.
pub fn join(join: Join) -> Result<(), Failure> {
    defer(Deferred::Join(Box::new(join))).map_or(Ok(()), run)
}

fn run(call: Deferred) -> Result<(), Failure> {
    match call {
        Deferred::Collective { communicator, plan, ranges, name, stream } => {
            crate::launch::launch(&communicator, plan, &ranges, name, stream as *mut c_void)
        }
        Deferred::Point { communicator, point, stream } => {
            point::launch(&communicator, &[point], "HcclGroup", stream as *mut c_void)
        }
        Deferred::Join(join) => join.complete(),
    }
}

/// Runs the calls of a group. Sends and receives of one communicator and stream become one task.
fn run_group(mut calls: Vec<Deferred>) -> Result<(), Failure> {
    while !calls.is_empty() {
        let call = calls.remove(0);
        let Deferred::Point { communicator, point, stream } = call else {
            run(call)?;
            continue;
        };
        let mut points = vec![point];
        calls.retain(|other| match other {
            Deferred::Point { communicator: theirs, point, stream: on }
                if Arc::ptr_eq(theirs, &communicator) && *on == stream =>
            {
                points.push(*point);
                false
            }
            _ => true,
        });
        point::launch(&communicator, &points, "HcclGroup", stream as *mut c_void)?;
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
