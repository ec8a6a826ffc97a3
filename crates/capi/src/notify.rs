//! Notifies and counting notifies.

use crate::entry::{array, export, out, require, text};
use ascendcl_sys::*;
use softacl_engine::{Caller, Compare, CounterOp, Error, NotifyKey, Result, fail, segv};
use softacl_faults::system::try_collect;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// Bytes of a key (specification 7).
const KEY: usize = 65;

export! {
    fn aclrtCreateNotify(notify: *mut aclrtNotify, flag: u64) |caller| {
        let place = out(notify, "notify")?;
        check_flag(flag, ACL_NOTIFY_DEVICE_USE_ONLY)?;
        require(caller, "aclrtCreateNotify")?;
        hand_over(caller, place, caller.create_notify()?, false)
    }

    fn aclrtDestroyNotify(notify: aclrtNotify) |caller| { caller.destroy_notify(require_non_null(notify)?, false) }

    fn aclrtRecordNotify(notify: aclrtNotify, stream: aclrtStream) |caller| {
        caller.record_notify(require_non_null(notify)?, stream as usize)
    }

    fn aclrtWaitAndResetNotify(notify: aclrtNotify, stream: aclrtStream, timeout: u32) |caller| {
        caller.wait_notify(require_non_null(notify)?, stream as usize, seconds(timeout))
    }

    fn aclrtGetNotifyId(notify: aclrtNotify, id: *mut u32) |caller| {
        let (notify, id) = (require_non_null(notify)?, out(id, "notifyId")?);
        id.set(caller.notify_id(notify, false)?)
    }

    fn aclrtNotifyBatchReset(notifies: *mut aclrtNotify, count: usize) |caller| {
        let notifies = array(notifies.cast_const(), count, "notifies")?.ok_or(Error::Null("notifies"))?;
        if count == 0 {
            return fail(Error::Argument("num is 0".to_owned()));
        }
        let all = try_collect(notifies.iter().map(|notify| require_non_null(*notify)), "notifies");
        require(caller, "aclrtNotifyBatchReset")?;
        caller.reset_notifies(&all?)
    }

    fn aclrtNotifyGetExportKey(notify: aclrtNotify, key: *mut c_char, len: usize, flags: u64) |caller| {
        let notify = require_non_null(notify)?;
        if key.is_null() {
            return fail(Error::Null("key"));
        }
        if len < KEY {
            return fail(Error::Parameter(format!("a key needs {KEY} bytes, not {len}")));
        }
        check_flag(flags, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)?;
        require(caller, "aclrtNotifyGetExportKey")?;
        let mut bytes = caller.export_notify(notify, flags != 0)?.into_bytes();
        bytes.resize(KEY, 0);
        if segv::try_write(key as usize, &bytes) {
            return Ok(());
        }
        fail(Error::Argument(format!("key points to {key:?}, which cannot be written")))
    }

    fn aclrtNotifySetImportPid(notify: aclrtNotify, pids: *mut i32, count: usize) |caller| {
        let notify = require_non_null(notify)?;
        let pids = array(pids.cast_const(), count, "pid")?.ok_or(Error::Null("pid"))?;
        if count == 0 {
            return fail(Error::Parameter("num is 0".to_owned()));
        }
        require(caller, "aclrtNotifySetImportPid")?;
        caller.allow_notify_processes(notify, pids)
    }

    fn aclrtNotifyImportByKey(notify: *mut aclrtNotify, key: *const c_char, flags: u64) |caller| {
        let place = out(notify, "notify")?;
        let key = text(key, "key")?.ok_or(Error::Null("key"))?;
        check_flag(flags, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS)?;
        require(caller, "aclrtNotifyImportByKey")?;
        hand_over(caller, place, caller.import_notify(&key)?, false)
    }

    /// No flags are documented; they have no effect.
    fn aclrtCntNotifyCreate(notify: *mut aclrtCntNotify, _flag: u64) |caller| {
        let place = out(notify, "cntNotify")?;
        require(caller, "aclrtCntNotifyCreate")?;
        hand_over(caller, place, caller.create_counting_notify()?, true)
    }

    fn aclrtCntNotifyDestroy(notify: aclrtCntNotify) |caller| {
        let notify = require_non_null(notify)?;
        require(caller, "aclrtCntNotifyDestroy")?;
        caller.destroy_notify(notify, true)
    }

    fn aclrtCntNotifyRecord(notify: aclrtCntNotify, stream: aclrtStream, info: *mut aclrtCntNotifyRecordInfo) |caller| {
        let notify = require_non_null(notify)?;
        let info = array(info.cast_const(), 1, "info")?.ok_or(Error::Null("info"))?[0];
        let change = match info.mode {
            ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE => CounterOp::Set(info.value),
            ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE => CounterOp::Add(info.value),
            ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE => CounterOp::Or(info.value),
            ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE => CounterOp::And(info.value),
            mode => return fail(Error::Parameter(format!("record mode {mode} does not exist"))),
        };
        require(caller, "aclrtCntNotifyRecord")?;
        caller.change_counting_notify(notify, stream as usize, change)
    }

    fn aclrtCntNotifyWaitWithTimeout(notify: aclrtCntNotify, stream: aclrtStream, info: *mut aclrtCntNotifyWaitInfo) |caller| {
        let notify = require_non_null(notify)?;
        let info = array(info.cast_const(), 1, "info")?.ok_or(Error::Null("info"))?[0];
        let compare = match info.mode {
            ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE => Compare::Less(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE => Compare::Equal(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE => Compare::Greater(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE => Compare::AtLeast(info.value),
            ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE => Compare::AllBits(info.value),
            mode => return fail(Error::Parameter(format!("wait mode {mode} does not exist"))),
        };
        require(caller, "aclrtCntNotifyWaitWithTimeout")?;
        caller.wait_counting_notify(notify, stream as usize, compare, info.isClear != 0, seconds(info.timeout))
    }

    fn aclrtCntNotifyReset(notify: aclrtCntNotify, stream: aclrtStream) |caller| {
        let notify = require_non_null(notify)?;
        require(caller, "aclrtCntNotifyReset")?;
        caller.change_counting_notify(notify, stream as usize, CounterOp::Set(0))
    }

    fn aclrtCntNotifyGetId(notify: aclrtCntNotify, id: *mut u32) |caller| {
        let (notify, id) = (require_non_null(notify)?, out(id, "notifyId")?);
        require(caller, "aclrtCntNotifyGetId")?;
        id.set(caller.notify_id(notify, true)?)
    }
}

fn hand_over(
    caller: Caller<'_>,
    place: crate::entry::Out<*mut c_void>,
    key: NotifyKey,
    is_counting: bool,
) -> Result<()> {
    place.set(key.raw() as *mut c_void).inspect_err(|_| {
        // Nobody will ever know the handle.
        let _ = caller.destroy_notify(key.raw(), is_counting);
    })
}

fn require_non_null(notify: aclrtNotify) -> Result<usize> {
    if notify.is_null() { fail(Error::Null("notify")) } else { Ok(notify as usize) }
}

/// A flag that is 0 or one other value.
fn check_flag(flag: u64, other: i32) -> Result<()> {
    if flag == 0 || flag == other as u64 {
        return Ok(());
    }
    fail(Error::Parameter(format!("flag {flag} is neither 0 nor {other}")))
}

/// A timeout in seconds; 0 is for ever.
fn seconds(timeout: u32) -> Option<Duration> {
    (timeout != 0).then(|| Duration::from_secs(timeout.into()))
}
