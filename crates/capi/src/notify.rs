//! Notifies and counting notifies.

use crate::argument::{InMutPtr, NonNullArg, OutPtr, TextPtr};
use crate::entry::{Call, export};
use ascendcl_sys::*;
use softacl_engine::{Compare, CounterOp, Error, NotifyKey, Result, fail, segv};
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// Bytes of a key (specification 7).
const KEY: usize = 65;

export! {
    fn aclrtCreateNotify(notify: OutPtr<aclrtNotify>, flag: u64) |call| {
        check_flag(flag, ACL_NOTIFY_DEVICE_USE_ONLY)?;
        call.require_supported()?;
        hand_over(call, notify, call.create_notify()?, false)
    }

    fn aclrtDestroyNotify(notify: NonNullArg) |call| { call.destroy_notify(notify.address(), false) }

    fn aclrtRecordNotify(notify: NonNullArg, stream: aclrtStream) |call| {
        call.record_notify(notify.address(), stream as usize)
    }

    fn aclrtWaitAndResetNotify(notify: NonNullArg, stream: aclrtStream, timeout: u32) |call| {
        call.wait_notify(notify.address(), stream as usize, seconds(timeout))
    }

    fn aclrtGetNotifyId(notify: NonNullArg, id: OutPtr<u32>) |call| {
        id.set(call.notify_number(notify.address(), false)?)
    }

    fn aclrtNotifyBatchReset(notifies: InMutPtr<aclrtNotify>, count: usize) |call| {
        let guard = segv::enter();
        let notifies = notifies.cast::<usize>().array(count, &guard)?;
        if count == 0 {
            return fail(Error::Argument("num is 0".to_owned()));
        }
        call.require_supported()?;
        if notifies.contains(&0) {
            return fail(Error::Null("notify"));
        }
        call.reset_notifies(notifies)
    }

    fn aclrtNotifyGetExportKey(notify: NonNullArg, key: OutPtr<c_char>, len: usize, flags: u64) |call| {
        if len < KEY {
            return fail(Error::Parameter(format!("a key needs {KEY} bytes, not {len}")));
        }
        check_flag(flags, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)?;
        call.require_supported()?;
        let mut bytes = call.export_notify(notify.address(), flags != 0)?.into_bytes();
        bytes.resize(KEY, 0);
        key.write(&bytes)
    }

    fn aclrtNotifySetImportPid(notify: NonNullArg, pids: InMutPtr<i32>, count: usize) |call| {
        let guard = segv::enter();
        let pids = pids.array(count, &guard)?;
        if count == 0 {
            return fail(Error::Parameter("num is 0".to_owned()));
        }
        call.require_supported()?;
        call.allow_notify_processes(notify.address(), pids)
    }

    fn aclrtNotifyImportByKey(notify: OutPtr<aclrtNotify>, key: TextPtr, flags: u64) |call| {
        let key = key.read()?;
        check_flag(flags, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS)?;
        call.require_supported()?;
        hand_over(call, notify, call.import_notify(&key)?, false)
    }

    /// No flags are documented; they have no effect.
    fn aclrtCntNotifyCreate(notify: OutPtr<aclrtCntNotify>, _flag: u64) |call| {
        call.require_supported()?;
        hand_over(call, notify, call.create_counting_notify()?, true)
    }

    fn aclrtCntNotifyDestroy(notify: NonNullArg) |call| {
        call.require_supported()?;
        call.destroy_notify(notify.address(), true)
    }

    fn aclrtCntNotifyRecord(notify: NonNullArg, stream: aclrtStream, info: InMutPtr<aclrtCntNotifyRecordInfo>) |call| {
        let info = info.read()?;
        let change = match info.mode {
            ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE => CounterOp::Set(info.value),
            ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE => CounterOp::Add(info.value),
            ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE => CounterOp::Or(info.value),
            ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE => CounterOp::And(info.value),
            mode => return fail(Error::Parameter(format!("record mode {mode} does not exist"))),
        };
        call.require_supported()?;
        call.change_counting_notify(notify.address(), stream as usize, change)
    }

    fn aclrtCntNotifyWaitWithTimeout(notify: NonNullArg, stream: aclrtStream, info: InMutPtr<aclrtCntNotifyWaitInfo>) |call| {
        let info = info.read()?;
        let compare = match info.mode {
            ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE => Compare::Less(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE => Compare::Equal(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE => Compare::Greater(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE => Compare::AtLeast(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE => Compare::AllBits(info.value),
            mode => return fail(Error::Parameter(format!("wait mode {mode} does not exist"))),
        };
        call.require_supported()?;
        call.wait_counting_notify(notify.address(), stream as usize, compare, info.isClear != 0, seconds(info.timeout))
    }

    fn aclrtCntNotifyReset(notify: NonNullArg, stream: aclrtStream) |call| {
        call.require_supported()?;
        call.change_counting_notify(notify.address(), stream as usize, CounterOp::Set(0))
    }

    fn aclrtCntNotifyGetId(notify: NonNullArg, id: OutPtr<u32>) |call| {
        call.require_supported()?;
        id.set(call.notify_number(notify.address(), true)?)
    }
}

/// Writes the handle of a new notify.
fn hand_over(call: Call<'_>, place: OutPtr<*mut c_void>, key: NotifyKey, is_counting: bool) -> Result<()> {
    place.set_or(key.raw() as *mut c_void, || drop(call.destroy_notify(key.raw(), is_counting)))
}

/// Checks a flag that may be 0 or one other value.
fn check_flag(flag: u64, other: i32) -> Result<()> {
    if flag == 0 || flag == other as u64 {
        return Ok(());
    }
    fail(Error::Parameter(format!("flag {flag} is neither 0 nor {other}")))
}

/// Converts a timeout in seconds. 0 is `None`, no limit.
fn seconds(timeout: u32) -> Option<Duration> {
    (timeout != 0).then(|| Duration::from_secs(timeout.into()))
}
