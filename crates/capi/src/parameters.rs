//! Execution parameters of operators: core limits and overflow mode. They have no effect, because operators compute on the
//! CPU; values are stored and returned. The exception is the limit of waits for events.

use crate::argument::OutPtr;
use crate::entry::{Call, export};
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static DEVICES: LazyLock<Mutex<HashMap<u32, Device>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The stream whose core limits apply to this thread. 0 is none.
    static USED: Cell<usize> = const { Cell::new(0) };
}

/// Parameters of a device.
#[derive(Default)]
struct Device {
    overflow_mode: Option<i32>,
    core_limits: [Option<u32>; 2],
}

export! {
    /// Limits waits of streams for events, in seconds. 0 is no limit.
    fn aclrtSetOpWaitTimeout(seconds: u32) |call| {
        call.require_supported()?;
        call.machine().limit_event_waits(seconds);
        Ok(())
    }

    /// Sets the stream attribute ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK.
    fn aclrtSetStreamOverflowSwitch(stream: aclrtStream, flag: u32) |call| {
        call.require_supported()?;
        call.change_stream_settings(stream as usize, |settings| settings.overflow_check = flag)
    }

    fn aclrtGetStreamOverflowSwitch(stream: aclrtStream, flag: OutPtr<u32>) |call| {
        call.require_supported()?;
        flag.set(call.stream_settings(stream as usize)?.overflow_check)
    }

    fn aclrtSetDeviceSatMode(mode: i32) |call| {
        if !(ACL_RT_OVERFLOW_MODE_SATURATION..=ACL_RT_OVERFLOW_MODE_UNDEF).contains(&mode) {
            return fail(Error::Parameter(format!("overflow mode {mode} is not in 0 to 2")));
        }
        call.require_supported()?;
        let device = call.device()?;
        devices().entry(device).or_default().overflow_mode = Some(mode);
        Ok(())
    }

    fn aclrtGetDeviceSatMode(mode: OutPtr<i32>) |call| {
        call.require_supported()?;
        let set = devices().get(&call.device()?).and_then(|device| device.overflow_mode);
        let has_infinities = call.machine().config().profile.chip.features.inf_nan;
        let default = if has_infinities { ACL_RT_OVERFLOW_MODE_INFNAN } else { ACL_RT_OVERFLOW_MODE_SATURATION };
        mode.set(set.unwrap_or(default))
    }

    fn aclrtSetDeviceResLimit(device: i32, kind: i32, value: u32) |call| {
        let (device, cores) = (checked_device(call, device)?, core_count(kind)?);
        call.require_supported()?;
        devices().entry(device).or_default().core_limits[cores] = Some(value);
        Ok(())
    }

    fn aclrtGetDeviceResLimit(device: i32, kind: i32, value: OutPtr<u32>) |call| {
        let (device, cores) = (checked_device(call, device)?, core_count(kind)?);
        call.require_supported()?;
        value.set(device_limit(call, device, cores)?)
    }

    fn aclrtResetDeviceResLimit(device: i32) |call| {
        let device = checked_device(call, device)?;
        call.require_supported()?;
        devices().entry(device).or_default().core_limits = [None; 2];
        Ok(())
    }

    fn aclrtSetStreamResLimit(stream: aclrtStream, kind: i32, value: u32) |call| {
        let cores = core_count(kind)?;
        call.require_supported()?;
        call.change_stream_settings(stream as usize, |settings| settings.core_limits[cores] = Some(value))
    }

    fn aclrtGetStreamResLimit(stream: aclrtStream, kind: i32, value: OutPtr<u32>) |call| {
        let cores = core_count(kind)?;
        call.require_supported()?;
        value.set(stream_limit(call, stream as usize, cores)?)
    }

    fn aclrtResetStreamResLimit(stream: aclrtStream) |call| {
        call.require_supported()?;
        call.change_stream_settings(stream as usize, |settings| settings.core_limits = [None; 2])
    }

    fn aclrtUseStreamResInCurrentThread(stream: aclrtStream) |call| {
        call.require_supported()?;
        call.stream_settings(stream as usize)?;
        // The default stream may change later; the current one is meant.
        let stream = if stream.is_null() { call.current_default_stream()? } else { stream as usize };
        USED.set(stream);
        Ok(())
    }

    fn aclrtUnuseStreamResInCurrentThread(stream: aclrtStream) |call| {
        call.require_supported()?;
        call.stream_settings(stream as usize)?;
        USED.set(0);
        Ok(())
    }

    fn aclrtGetResInCurrentThread(kind: i32, value: OutPtr<u32>) |call| {
        let cores = core_count(kind)?;
        call.require_supported()?;
        let limit = match USED.get() {
            0 => device_limit(call, call.device()?, cores)?,
            stream => stream_limit(call, stream, cores)?,
        };
        value.set(limit)
    }
}

/// Returns the limit of a stream, otherwise that of the current device.
fn stream_limit(call: Call<'_>, stream: usize, cores: usize) -> Result<u32> {
    match call.stream_settings(stream)?.core_limits[cores] {
        Some(limit) => Ok(limit),
        None => device_limit(call, call.device()?, cores),
    }
}

/// Returns the limit of a device, otherwise its number of cores.
fn device_limit(call: Call<'_>, device: u32, cores: usize) -> Result<u32> {
    let profile = &call.machine().config().profile;
    if let Some(limit) = devices().get(&device).and_then(|device| device.core_limits[cores]) {
        return Ok(limit);
    }
    let all = profile.chip.cores.as_ref().map(|all| [all.cube, all.vector][cores]);
    let unknown = || Error::Feature(format!("no public value is known for the cores of {}", profile.soc));
    all.ok_or_else(|| Box::new(unknown()))
}

fn checked_device(call: Call<'_>, device: i32) -> Result<u32> {
    call.machine().logical_device(device.into())?;
    Ok(device as u32)
}

fn core_count(kind: i32) -> Result<usize> {
    match kind {
        ACL_RT_DEV_RES_CUBE_CORE => Ok(0),
        ACL_RT_DEV_RES_VECTOR_CORE => Ok(1),
        _ => fail(Error::Parameter(format!("core type {kind} is neither 0 (cube) nor 1 (vector)"))),
    }
}

fn devices() -> MutexGuard<'static, HashMap<u32, Device>> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}
