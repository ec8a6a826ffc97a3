//! Groups of a device's resources. There are none.

use crate::entry::{export, out, refuse_with, require};
use ascendcl_sys::*;

export! {
    fn aclrtGetGroupCount(count: *mut u32) |caller| {
        let count = out(count, "count")?;
        require(caller, "aclrtGetGroupCount")?;
        count.set(0)
    }
}

/// Its code has no cause in the engine.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetGroup(group: i32) -> aclError {
    let code = crate::entry::enter("aclrtSetGroup", |caller| require(caller, "aclrtSetGroup"));
    if code != 0 {
        return code;
    }
    crate::message::set_last_code(ACL_ERROR_RT_GROUP_NOT_CREATE);
    let why = format!("group {group} does not exist: there are no groups");
    refuse_with("aclrtSetGroup", ACL_ERROR_RT_GROUP_NOT_CREATE, &why)
}
