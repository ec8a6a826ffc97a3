//! Lists of tensors and of scalars. A list owns its members.

use crate::access::{destroy, unknown, with};
use crate::objects::Object;
use crate::program::{read_array, write};
use crate::status::{Failure, Status, finish, finish_handle};
use crate::table::table;
use std::ffi::c_void;

/// Declares creation, destruction and size of a list.
macro_rules! list {
    ($kind:ident of $member:ident, $what:literal: $create:ident, $destroy:ident, $size:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(value: *const c_void, size: u64) -> *mut c_void {
            let is_member = |object: &Object| matches!(object, Object::$member(_));
            let members = members(value, size, $what, is_member);
            finish_handle(stringify!($create), members.and_then(|members| table().insert(Object::$kind(members))))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $destroy(list: *const c_void) -> Status {
            let is_kind = |object: &Object| matches!(object, Object::$kind(_));
            finish(stringify!($destroy), destroy(list as usize, "list", is_kind))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $size(list: *const c_void, size: *mut u64) -> Status {
            let found = with(list as usize, "list", |object| match object {
                Object::$kind(members) => Some(members.len() as u64),
                _ => None,
            });
            finish(stringify!($size), found.and_then(|count| write(size as usize, count, "size")))
        }
    };
}

list!(TensorList of Tensor, "tensor": aclCreateTensorList, aclDestroyTensorList, aclGetTensorListSize);
list!(ScalarList of Scalar, "scalar": aclCreateScalarList, aclDestroyScalarList, aclGetScalarListSize);

/// Reads the handles of the members. A list without one of them is not created.
fn members(value: *const c_void, size: u64, what: &str, is_member: fn(&Object) -> bool) -> Result<Vec<usize>, Failure> {
    let members = read_array::<usize>(value as usize, size, "value")?;
    let table = table();
    match members.iter().find(|member| !table.get(**member).is_some_and(is_member)) {
        Some(foreign) => Err(unknown(*foreign, what)),
        None => Ok(members),
    }
}
