//! Events.

use crate::entry::{export, out, require, timeout};
use ascendcl_sys::*;
use softacl_engine::{Caller, Error, EventKind, EventStatus, Result, fail};
use std::ffi::c_void;

export! {
    fn aclrtCreateEvent(event: *mut aclrtEvent) |caller| { create(caller, event, EventKind::Plain) }

    fn aclrtCreateEventWithFlag(event: *mut aclrtEvent, flag: u32) |caller| {
        create(caller, event, EventKind::Flagged(flag))
    }

    fn aclrtCreateEventExWithFlag(event: *mut aclrtEvent, flag: u32) |caller| {
        if flag == ACL_EVENT_IPC as u32 {
            require(caller, "aclrtIpcGetEventHandle")?;
        }
        create(caller, event, EventKind::Extended(flag))
    }

    fn aclrtDestroyEvent(event: aclrtEvent) |caller| { caller.destroy_event(require_non_null(event)?) }
    fn aclrtRecordEvent(event: aclrtEvent, stream: aclrtStream) |caller| {
        caller.record_event(require_non_null(event)?, stream as usize)
    }
    fn aclrtResetEvent(event: aclrtEvent, stream: aclrtStream) |caller| {
        caller.reset_event(require_non_null(event)?, stream as usize)
    }
    fn aclrtStreamWaitEvent(stream: aclrtStream, event: aclrtEvent) |caller| {
        caller.stream_wait_event(stream as usize, require_non_null(event)?)
    }

    /// The timeout has no effect: nothing here waits on behalf of hardware that could hang.
    fn aclrtStreamWaitEventWithTimeout(stream: aclrtStream, event: aclrtEvent, timeout: i32) |caller| {
        let event = require_non_null(event)?;
        if timeout < 0 {
            return fail(Error::Parameter(format!("timeout {timeout} is negative")));
        }
        caller.stream_wait_event(stream as usize, event)
    }

    fn aclrtStreamWaitEventWithFlag(stream: aclrtStream, event: aclrtEvent, _timeout: u32, flag: u32) |caller| {
        let event = require_non_null(event)?;
        check_flag(flag)?;
        require(caller, "aclrtStreamWaitEventWithFlag")?;
        match flag {
            EXTERNAL => caller.stream_wait_external_event(stream as usize, event),
            _ => caller.stream_wait_event(stream as usize, event),
        }
    }

    fn aclrtRecordEventWithFlag(event: aclrtEvent, stream: aclrtStream, flag: u32) |caller| {
        let event = require_non_null(event)?;
        check_flag(flag)?;
        require(caller, "aclrtRecordEventWithFlag")?;
        match flag {
            EXTERNAL => caller.record_external_event(event, stream as usize),
            _ => caller.record_event(event, stream as usize),
        }
    }

    fn aclrtSynchronizeEvent(event: aclrtEvent) |caller| { caller.synchronize_event(require_non_null(event)?, -1) }
    fn aclrtSynchronizeEventWithTimeout(event: aclrtEvent, ms: i32) |caller| {
        caller.synchronize_event(require_non_null(event)?, timeout(ms)?)
    }

    fn aclrtQueryEventStatus(event: aclrtEvent, status: *mut i32) |caller| {
        let (event, status) = (require_non_null(event)?, out(status, "status")?);
        let complete = match caller.event_status(event)? {
            (EventStatus::Complete, _) => true,
            (EventStatus::NeverRecorded, extended) => extended,
            (EventStatus::Pending, _) => false,
        };
        status.set(if complete { ACL_EVENT_RECORDED_STATUS_COMPLETE } else { ACL_EVENT_RECORDED_STATUS_NOT_READY })
    }

    /// The older query, whose numbers are the other way round.
    fn aclrtQueryEvent(event: aclrtEvent, status: *mut i32) |caller| {
        let (event, status) = (require_non_null(event)?, out(status, "status")?);
        match caller.event_status(event)? {
            (_, true) => fail(Error::Feature("aclrtQueryEvent does not know Ex events; use aclrtQueryEventStatus".to_owned())),
            (EventStatus::Complete, false) => status.set(ACL_EVENT_STATUS_COMPLETE),
            (EventStatus::NeverRecorded | EventStatus::Pending, false) => status.set(ACL_EVENT_STATUS_NOT_READY),
        }
    }

    fn aclrtQueryEventWaitStatus(event: aclrtEvent, status: *mut i32) |caller| {
        let (event, status) = (require_non_null(event)?, out(status, "status")?);
        let over = caller.are_event_waits_finished(event)?;
        status.set(if over { ACL_EVENT_WAIT_STATUS_COMPLETE } else { ACL_EVENT_WAIT_STATUS_NOT_READY })
    }

    fn aclrtEventElapsedTime(ms: *mut f32, start: aclrtEvent, end: aclrtEvent) |caller| {
        let ms = out(ms, "ms")?;
        let (start, end) = (require_non_null(start)?, require_non_null(end)?);
        ms.set(caller.elapsed_ms(start, end)?)
    }

    fn aclrtEventGetTimestamp(event: aclrtEvent, timestamp: *mut u64) |caller| {
        let (event, timestamp) = (require_non_null(event)?, out(timestamp, "timestamp")?);
        timestamp.set(caller.event_time_us(event)?)
    }

    fn aclrtIpcGetEventHandle(event: aclrtEvent, handle: *mut aclrtIpcEventHandle) |caller| {
        let (event, handle) = (require_non_null(event)?, out(handle, "handle")?);
        require(caller, "aclrtIpcGetEventHandle")?;
        let name = caller.export_event(event)?;
        let mut reserved = [0; 64];
        for (cell, byte) in reserved.iter_mut().zip(name) {
            *cell = byte as std::ffi::c_char;
        }
        handle.set(aclrtIpcEventHandle { reserved })
    }

    fn aclrtIpcOpenEventHandle(handle: aclrtIpcEventHandle, event: *mut aclrtEvent) |caller| {
        let event = out(event, "event")?;
        require(caller, "aclrtIpcOpenEventHandle")?;
        let name = std::array::from_fn(|index| handle.reserved[index] as u8);
        let key = caller.import_event(name)?;
        event.set(key.raw() as *mut c_void)
    }

    fn aclrtGetEventId(event: aclrtEvent, id: *mut u32) |caller| {
        let (event, id) = (require_non_null(event)?, out(id, "eventId")?);
        id.set(caller.event_id(event)?)
    }
}

fn create(caller: Caller<'_>, event: *mut aclrtEvent, kind: EventKind) -> Result<()> {
    let event = out(event, "event")?;
    let key = caller.create_event(kind)?;
    event.set(key.raw() as *mut c_void).inspect_err(|_| {
        // Nobody will ever know the handle.
        let _ = caller.destroy_event(key.raw());
    })
}

/// 0 or 1 (EXTERNAL), which makes a difference only in a captured graph.
/// `ACL_EVENT_RECORD_EXTERNAL` and `ACL_EVENT_WAIT_EXTERNAL`.
const EXTERNAL: u32 = 1;

fn check_flag(flag: u32) -> Result<()> {
    if flag <= EXTERNAL { Ok(()) } else { fail(Error::Argument(format!("flag {flag} is neither 0 nor 1"))) }
}

fn require_non_null(event: aclrtEvent) -> Result<usize> {
    if event.is_null() { fail(Error::Null("event")) } else { Ok(event as usize) }
}
