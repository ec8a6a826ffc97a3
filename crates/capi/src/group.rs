//! Groups of a device's resources. softacl models none, so the list of groups is always empty.

use crate::argument::{NonNullArg, OutPtr, UntypedPtr};
use crate::entry::{CallError, export};
use ascendcl_sys::*;
use softacl_engine::Error;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The live objects for descriptions of groups. Each is only its number, because there is nothing to describe.
static OBJECTS: Mutex<(usize, BTreeSet<usize>)> = Mutex::new((0, BTreeSet::new()));
/// Upper bits of handles. They differ from those of other handles and of addresses.
const MARK: usize = 0x5ac6 << 48;

fn objects() -> MutexGuard<'static, (usize, BTreeSet<usize>)> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns NULL on chips without groups.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtCreateGroupInfo() -> *mut c_void {
    let has_groups = |chip: &softacl_profiles::Chip| rows::aclrtCreateGroupInfo.products & chip.product_bit() != 0;
    match crate::process::machine() {
        Ok(machine) if has_groups(machine.config().profile.chip) => {}
        _ => return std::ptr::null_mut(),
    }
    let mut objects = objects();
    objects.0 += 1;
    let handle = MARK | objects.0 << 4;
    objects.1.insert(handle);
    handle as *mut c_void
}

export! {
    fn aclrtGetGroupCount(count: OutPtr<u32>) |call| {
        call.require_supported()?;
        count.set(0)
    }

    fn aclrtSetGroup(group: i32) -> Result<(), CallError> |call| {
        call.require_supported()?;
        let text = format!("group {group} does not exist: there are no groups");
        Err(CallError::runtime_code(ACL_ERROR_RT_GROUP_NOT_CREATE, text))
    }

    fn aclrtDestroyGroupInfo(info: NonNullArg) |call| {
        call.require_supported()?;
        check_object(info.address())?;
        objects().1.remove(&info.address());
        Ok(())
    }

    fn aclrtGetAllGroupInfo(info: NonNullArg) |call| {
        call.require_supported()?;
        check_object(info.address())?;
        call.current_context().map(|_| ())
    }

    fn aclrtGetGroupInfoDetail(
        info: NonNullArg<*const c_void>, index: i32, attribute: i32, _value: UntypedPtr, _len: usize,
        _written: OutPtr<usize>
    ) -> Result<(), CallError> |call| {
        call.require_supported()?;
        check_object(info.address())?;
        if !(ACL_GROUP_AICORE_INT..=ACL_GROUP_GROUPID_INT).contains(&attribute) {
            return Err(Error::Parameter(format!("group attribute {attribute} is not in 0 to 5")).into());
        }
        let text = format!("group {index} does not exist: there are no groups");
        Err(CallError::runtime_code(ACL_ERROR_RT_GROUP_NOT_CREATE, text))
    }
}

fn check_object(handle: usize) -> softacl_engine::Result<()> {
    if objects().1.contains(&handle) {
        return Ok(());
    }
    softacl_engine::fail(Error::Parameter(format!("{handle:#x} is not a live object of aclrtCreateGroupInfo")))
}
