//! Functions on executors. An operator creates an executor, and there are no operators: every executor is unknown.

use crate::access::unknown;
use crate::status::{Failure, Status, finish};
use std::ffi::c_void;

fn refuse(function: &str, executor: *mut c_void, changed: Option<*mut c_void>) -> Status {
    finish(
        function,
        Err(match (executor.is_null(), changed.is_some_and(|changed| changed.is_null())) {
            (true, _) => Failure::NullExecutor("executor"),
            (_, true) => Failure::NullExecutor("the tensor or list"),
            _ => unknown(executor as usize, "executor"),
        }),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclSetAclOpExecutorRepeatable(executor: *mut c_void) -> Status {
    refuse("aclSetAclOpExecutorRepeatable", executor, None)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclDestroyAclOpExecutor(executor: *mut c_void) -> Status {
    refuse("aclDestroyAclOpExecutor", executor, None)
}

/// Declares functions that change an address. Each exists under two names.
macro_rules! addresses {
    (single: $($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            executor: *mut c_void, _index: usize, tensor: *mut c_void, _address: *mut c_void,
        ) -> Status {
            refuse(stringify!($name), executor, Some(tensor))
        }
    )*};
    (member: $($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            executor: *mut c_void, _argument: usize, _member: usize, tensors: *mut c_void, _address: *mut c_void,
        ) -> Status {
            refuse(stringify!($name), executor, Some(tensors))
        }
    )*};
}

addresses!(single: aclSetInputTensorAddr aclSetOutputTensorAddr aclSetTensorAddr
    AclSetInputTensorAddr AclSetOutputTensorAddr AclSetTensorAddr);
addresses!(member: aclSetDynamicInputTensorAddr aclSetDynamicOutputTensorAddr aclSetDynamicTensorAddr
    AclSetDynamicInputTensorAddr AclSetDynamicOutputTensorAddr AclSetDynamicTensorAddr);
