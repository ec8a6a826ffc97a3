//! Groups of a device's resources. softacl models none.

use crate::argument::OutPtr;
use crate::entry::{CallError, export};
use ascendcl_sys::*;

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
}
