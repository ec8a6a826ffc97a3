//! Events.

use crate::argument::{NonNullArg, OutPtr};
use crate::entry::{Call, export, timeout};
use ascendcl_sys::*;
use softacl_engine::{Error, EventKind, EventStatus, Result, fail};
use std::ffi::c_void;

export! {
    fn aclrtCreateEvent(event: OutPtr<aclrtEvent>) |call| { create(call, event, EventKind::Plain) }

    fn aclrtCreateEventWithFlag(event: OutPtr<aclrtEvent>, flag: u32) |call| {
        create(call, event, EventKind::Flagged(flag))
    }

    fn aclrtCreateEventExWithFlag(event: OutPtr<aclrtEvent>, flag: u32) |call| {
        if flag == ACL_EVENT_IPC as u32 {
            call.require(rows::aclrtIpcGetEventHandle)?;
        }
        create(call, event, EventKind::Extended(flag))
    }

    fn aclrtGetEventAvailNum(count: OutPtr<u32>) |call| {
        call.require_supported()?;
        count.set(call.available_events()?)
    }

    fn aclrtDestroyEvent(event: NonNullArg) |call| { call.destroy_event(event.address()) }
    fn aclrtRecordEvent(event: NonNullArg, stream: aclrtStream) |call| {
        call.record_event(event.address(), stream as usize)
    }
    fn aclrtResetEvent(event: NonNullArg, stream: aclrtStream) |call| {
        call.reset_event(event.address(), stream as usize)
    }
    fn aclrtStreamWaitEvent(stream: aclrtStream, event: NonNullArg) |call| {
        call.stream_wait_event(stream as usize, event.address())
    }

    /// The timeout has no effect, because there is no hardware that could hang.
    fn aclrtStreamWaitEventWithTimeout(stream: aclrtStream, event: NonNullArg, timeout: i32) |call| {
        if timeout < 0 {
            return fail(Error::Parameter(format!("timeout {timeout} is negative")));
        }
        call.stream_wait_event(stream as usize, event.address())
    }

    fn aclrtStreamWaitEventWithFlag(stream: aclrtStream, event: NonNullArg, timeout: u32, flag: u32) |call| {
        check_flag(flag)?;
        call.require_supported()?;
        match flag {
            EXTERNAL if timeout != 0 => {
                fail(Error::Parameter(format!("a wait with the flag EXTERNAL has no timeout: it must be 0, not {timeout}")))
            }
            EXTERNAL => call.stream_wait_external_event(stream as usize, event.address()),
            _ => call.stream_wait_event(stream as usize, event.address()),
        }
    }

    fn aclrtRecordEventWithFlag(event: NonNullArg, stream: aclrtStream, flag: u32) |call| {
        check_flag(flag)?;
        call.require_supported()?;
        match flag {
            EXTERNAL => call.record_external_event(event.address(), stream as usize),
            _ => call.record_event(event.address(), stream as usize),
        }
    }

    fn aclrtSynchronizeEvent(event: NonNullArg) |call| { call.synchronize_event(event.address(), -1) }
    fn aclrtSynchronizeEventWithTimeout(event: NonNullArg, ms: i32) |call| {
        call.synchronize_event(event.address(), timeout(ms)?)
    }

    fn aclrtQueryEventStatus(event: NonNullArg, status: OutPtr<i32>) |call| {
        let complete = match call.event_status(event.address())? {
            (EventStatus::Complete, _) => true,
            (EventStatus::NeverRecorded, extended) => extended,
            (EventStatus::Pending, _) => false,
        };
        status.set(if complete { ACL_EVENT_RECORDED_STATUS_COMPLETE } else { ACL_EVENT_RECORDED_STATUS_NOT_READY })
    }

    /// The older query, whose values are swapped.
    fn aclrtQueryEvent(event: NonNullArg, status: OutPtr<i32>) |call| {
        match call.event_status(event.address())? {
            (_, true) => {
                fail(Error::Feature("aclrtQueryEvent does not support Ex events; use aclrtQueryEventStatus".to_owned()))
            }
            (EventStatus::Complete, false) => status.set(ACL_EVENT_STATUS_COMPLETE),
            (EventStatus::NeverRecorded | EventStatus::Pending, false) => status.set(ACL_EVENT_STATUS_NOT_READY),
        }
    }

    fn aclrtQueryEventWaitStatus(event: NonNullArg, status: OutPtr<i32>) |call| {
        let over = call.are_event_waits_finished(event.address())?;
        status.set(if over { ACL_EVENT_WAIT_STATUS_COMPLETE } else { ACL_EVENT_WAIT_STATUS_NOT_READY })
    }

    fn aclrtEventElapsedTime(ms: OutPtr<f32>, start: NonNullArg, end: NonNullArg) |call| {
        ms.set(call.elapsed_ms(start.address(), end.address())?)
    }

    fn aclrtEventGetTimestamp(event: NonNullArg, timestamp: OutPtr<u64>) |call| {
        timestamp.set(call.event_time_us(event.address())?)
    }

    fn aclrtIpcGetEventHandle(event: NonNullArg, handle: OutPtr<aclrtIpcEventHandle>) |call| {
        call.require_supported()?;
        let name = call.export_event(event.address())?;
        let mut reserved = [0; 64];
        for (cell, byte) in reserved.iter_mut().zip(name) {
            *cell = byte as std::ffi::c_char;
        }
        handle.set(aclrtIpcEventHandle { reserved })
    }

    fn aclrtIpcOpenEventHandle(handle: aclrtIpcEventHandle, event: OutPtr<aclrtEvent>) |call| {
        call.require_supported()?;
        let name = std::array::from_fn(|index| handle.reserved[index] as u8);
        let key = call.import_event(name)?;
        event.set(key.raw() as *mut c_void)
    }

    fn aclrtGetEventId(event: NonNullArg, id: OutPtr<u32>) |call| {
        id.set(call.event_id(event.address())?)
    }
}

fn create(call: Call<'_>, event: OutPtr<aclrtEvent>, kind: EventKind) -> Result<()> {
    let key = call.create_event(kind)?;
    event.set_or(key.raw() as *mut c_void, || drop(call.destroy_event(key.raw())))
}

/// `ACL_EVENT_RECORD_EXTERNAL` and `ACL_EVENT_WAIT_EXTERNAL`, for capturing streams only.
const EXTERNAL: u32 = 1;

fn check_flag(flag: u32) -> Result<()> {
    if flag <= EXTERNAL { Ok(()) } else { fail(Error::Argument(format!("flag {flag} is neither 0 nor 1"))) }
}
