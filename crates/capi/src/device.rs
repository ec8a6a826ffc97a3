//! Devices: selection, reset, synchronization, queries.

use crate::argument::OutPtr;
use crate::entry::{Call, CallError, export, timeout};
use crate::state_callback::call_abort_callbacks;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use softacl_faults::DeviceHealth;
use softacl_profiles::Form;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::OnceLock;

#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetSocName() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    match crate::process::machine() {
        Ok(machine) => {
            let soc = &machine.config().profile.soc;
            NAME.get_or_init(|| CString::new(soc.as_str()).unwrap_or_default()).as_ptr()
        }
        Err(_) => ptr::null(),
    }
}

export! {
    fn aclrtSetDevice(device: i32) |call| { call.set_device(device.into()) }
    fn aclrtResetDevice(device: i32) |call| { call.reset_device(device.into()) }
    fn aclrtResetDeviceForce(device: i32) |call| { call.reset_device_by_force(device.into()) }

    fn aclrtGetDevice(device: OutPtr<i32>) |call| {
        device.set(call.device()? as i32)
    }

    fn aclrtGetDeviceCount(count: OutPtr<u32>) |call| {
        count.set(call.machine().config().devices.len() as u32)
    }

    fn aclrtGetRunMode(mode: OutPtr<i32>) |call| {
        mode.set(match call.machine().config().profile.form {
            Form::Endpoint => ACL_HOST,
            Form::RootComplex | Form::ControlCpu => ACL_DEVICE,
        })
    }

    fn aclrtSynchronizeDevice() |call| { call.synchronize_device(-1) }

    fn aclrtSynchronizeDeviceWithTimeout(ms: i32) |call| { call.synchronize_device(timeout(ms)?) }

    fn aclGetDeviceCapability(device: u32, info: i32, value: OutPtr<i64>) |call| {
        let attribute = match info {
            ACL_DEVICE_INFO_AI_CORE_NUM => ACL_DEV_ATTR_AICORE_CORE_NUM,
            ACL_DEVICE_INFO_VECTOR_CORE_NUM => ACL_DEV_ATTR_VECTOR_CORE_NUM,
            ACL_DEVICE_INFO_L2_SIZE => ACL_DEV_ATTR_L2_CACHE_SIZE,
            _ => return fail(Error::Argument(format!("device information {info} does not exist"))),
        };
        value.set(attribute_value(call, device.into(), attribute)?)
    }

    fn aclrtGetDeviceInfo(device: u32, attribute: i32, value: OutPtr<i64>) |call| {
        value.set(attribute_value(call, device.into(), attribute)?)
    }

    fn aclrtQueryDeviceStatus(device: i32, status: OutPtr<i32>) |call| {
        let is_lost = call.machine().health(device.into())? == DeviceHealth::Lost;
        status.set(if is_lost { ACL_RT_DEVICE_STATUS_ABNORMAL } else { ACL_RT_DEVICE_STATUS_NORMAL })
    }

    /// Only memory has a utilization other than 0, because softacl has no cores.
    fn aclrtGetDeviceUtilizationRate(device: i32, rates: OutPtr<aclrtUtilizationInfo>) |call| {
        let usage = call.machine().device_memory(device.into())?;
        rates.set(aclrtUtilizationInfo {
            cubeUtilization: 0,
            vectorUtilization: 0,
            aicpuUtilization: 0,
            memoryUtilization: (usage.used as u128 * 100 / usage.capacity as u128) as i32,
            utilizationExtend: ptr::null_mut(),
        })
    }

    fn aclrtDeviceGetBareTgid(pid: OutPtr<i32>) |_call| {
        pid.set(std::process::id() as i32)
    }

    fn aclrtDeviceTaskAbort(device: i32, ms: u32) -> std::result::Result<(), CallError> |call| {
        call.require_supported()?;
        call.machine().logical_device(device.into())?;
        call_abort_callbacks(device, ACL_RT_DEVICE_TASK_ABORT_PRE, ms)?;
        let limit = if ms == 0 { -1 } else { i32::try_from(ms).unwrap_or(i32::MAX) };
        let aborted = call.abort_device_tasks(device.into(), limit);
        let called = call_abort_callbacks(device, ACL_RT_DEVICE_TASK_ABORT_POST, ms);
        aborted.map_err(CallError::from).and(called)
    }

    /// The id is stable for a chip and a device, and different for each device.
    fn aclrtDeviceGetUuid(device: i32, uuid: OutPtr<aclrtUuid>) |call| {
        call.require_supported()?;
        let logical = call.machine().logical_device(device.into())?;
        let mut bytes = *b"softacl-\0\0\0\0\0\0\0\0";
        let soc = &call.machine().config().profile.soc;
        for (index, byte) in soc.bytes().enumerate() {
            bytes[8 + index % 7] = bytes[8 + index % 7].wrapping_mul(31).wrapping_add(byte);
        }
        bytes[15] = logical as u8;
        uuid.set(aclrtUuid { bytes: bytes.map(|byte| byte as c_char) })
    }

    fn aclrtGetLogicDevIdByUserDevId(user: i32, logical: OutPtr<i32>) |call| {
        logical.set(call.machine().logical_device(user.into())? as i32)
    }

    fn aclrtGetUserDevIdByLogicDevId(logical: i32, user: OutPtr<i32>) |call| {
        user.set(call.machine().user_device(logical.into())? as i32)
    }

    /// Physical and logical ids are the same here.
    fn aclrtGetLogicDevIdByPhyDevId(physical: i32, logical: OutPtr<i32>) |call| {
        call.machine().user_device(physical.into())?;
        logical.set(physical)
    }

    fn aclrtGetPhyDevIdByLogicDevId(logical: i32, physical: OutPtr<i32>) |call| {
        call.machine().user_device(logical.into())?;
        physical.set(logical)
    }

    fn aclrtGetUserDevIdByPhyDevId(physical: i32, user: OutPtr<i32>) |call| {
        user.set(call.machine().user_device(physical.into())? as i32)
    }

    fn aclrtGetPhyDevIdByUserDevId(user: i32, physical: OutPtr<i32>) |call| {
        physical.set(call.machine().logical_device(user.into())? as i32)
    }
}

/// Attributes that exist; some have no public value.
const ATTRIBUTES: std::ops::RangeInclusive<i32> = ACL_DEV_ATTR_AICPU_CORE_NUM..=ACL_DEV_ATTR_NPU_ARCH;

/// Returns an attribute of a device. `softacl chips` lists the sources of the numbers and which are unverified. An
/// attribute without a public value is an error.
fn attribute_value(call: Call<'_>, device: i64, attribute: i32) -> Result<i64> {
    let logical = call.machine().logical_device(device)?;
    let config = call.machine().config();
    let unknown =
        || Error::Feature(format!("no public value is known for attribute {attribute} of {}", config.profile.soc));
    let cores = || config.profile.chip.cores.as_ref().ok_or_else(unknown);
    Ok(match attribute {
        ACL_DEV_ATTR_AICPU_CORE_NUM => cores()?.aicpu.into(),
        ACL_DEV_ATTR_AICORE_CORE_NUM | ACL_DEV_ATTR_CUBE_CORE_NUM => cores()?.cube.into(),
        ACL_DEV_ATTR_VECTOR_CORE_NUM => cores()?.vector.into(),
        ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE => config.memory as i64,
        ACL_DEV_ATTR_SMP_ID => 0,
        ACL_DEV_ATTR_PHY_CHIP_ID => logical.into(),
        ACL_DEV_ATTR_HD_CONNECT_TYPE => ACL_HOST_DEVICE_CONNECT_TYPE_PCIE.into(),
        ACL_DEV_ATTR_IS_VIRTUAL => 0,
        known if ATTRIBUTES.contains(&known) => return fail(unknown()),
        _ => return fail(Error::Parameter(format!("device attribute {attribute} does not exist"))),
    })
}
