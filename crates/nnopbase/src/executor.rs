//! The functions of executors, the operators that phase one prepared. What an operator computes is not known here.
//!
//! Phase two takes the executor out of the table, unless it is repeatable. A used executor is then unknown, like every
//! other stale handle.

use crate::access::{TENSOR, with};
use crate::objects::{Executor, Object, Role, Slot};
use crate::program::{read_array, read_text};
use crate::status::{Failure, Status, finish};
use crate::table::table;
use std::ffi::{c_char, c_void};
use std::sync::Once;

/// Slots that a function counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inputs,
    Outputs,
    All,
}

impl Side {
    fn has(self, slot: &Slot) -> bool {
        match self {
            Side::Inputs => slot.role != Role::Output,
            Side::Outputs => slot.role != Role::Input,
            Side::All => true,
        }
    }
}

fn change(handle: usize, change: impl FnOnce(&mut Executor) -> Result<(), Failure>) -> Result<(), Failure> {
    if handle == 0 {
        return Err(Failure::NullExecutor("executor"));
    }
    match table().get_mut(handle) {
        Some(Object::Executor(executor)) => change(executor),
        _ => Err(unknown_executor(handle)),
    }
}

/// The failure of a handle that is no executor.
pub fn unknown_executor(handle: usize) -> Failure {
    Failure::Invalid(format!(
        "{handle:#x} is not a live executor; phase two frees it, unless aclSetAclOpExecutorRepeatable was called"
    ))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclSetAclOpExecutorRepeatable(executor: *mut c_void) -> Status {
    let changed = change(executor as usize, |executor| {
        executor.is_repeatable = true;
        Ok(())
    });
    finish("aclSetAclOpExecutorRepeatable", changed)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclDestroyAclOpExecutor(executor: *mut c_void) -> Status {
    let handle = executor as usize;
    let destroyed = change(handle, |_| Ok(())).map(|()| drop(table().remove(handle)));
    finish("aclDestroyAclOpExecutor", destroyed)
}

/// Replaces the address of one tensor.
fn set_single(executor: usize, side: Side, index: usize, tensor: usize, address: *mut c_void) -> Result<(), Failure> {
    if executor == 0 {
        return Err(Failure::NullExecutor("executor"));
    }
    if tensor == 0 {
        return Err(Failure::NullExecutor("tensor"));
    }
    change(executor, |executor| {
        let count = executor.slots.iter().filter(|slot| side.has(slot)).count();
        let operator = executor.operator;
        let slot = executor.slots.iter_mut().filter(|slot| side.has(slot)).nth(index).ok_or_else(|| {
            Failure::Invalid(format!("index is {index}; {operator} has {count} such tensors, counted from 0"))
        })?;
        set(slot, address, || format!("tensor {index} of {operator}"))
    })?;
    with(tensor, TENSOR, |object| matches!(object, Object::Tensor(_)).then_some(()))
}

/// Replaces the address of a member of a list.
fn set_member(
    executor: usize,
    side: Side,
    argument: usize,
    member: usize,
    list: usize,
    address: *mut c_void,
) -> Result<(), Failure> {
    if executor == 0 {
        return Err(Failure::NullExecutor("executor"));
    }
    if list == 0 {
        return Err(Failure::NullExecutor("tensors"));
    }
    change(executor, |executor| {
        let operator = executor.operator;
        let mut arguments: Vec<usize> =
            executor.slots.iter().filter(|slot| side.has(slot)).map(|slot| slot.argument).collect();
        arguments.dedup();
        let wanted = arguments.get(argument).copied();
        let slot = executor
            .slots
            .iter_mut()
            .find(|slot| side.has(slot) && Some(slot.argument) == wanted && slot.member == Some(member))
            .ok_or_else(|| Failure::Invalid(format!("{operator} has no list at {argument} with a member {member}")))?;
        set(slot, address, || format!("member {member} of list {argument} of {operator}"))
    })
}

fn set(slot: &mut Slot, address: *mut c_void, what: impl FnOnce() -> String) -> Result<(), Failure> {
    match &mut slot.address {
        Some(old) => {
            *old = address as usize;
            Ok(())
        }
        None => Err(Failure::Invalid(format!("{} was NULL in phase one", what()))),
    }
}

/// Declares functions that change an address. Each exists under two names.
macro_rules! addresses {
    (single: $($name:ident $side:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            executor: *mut c_void, index: usize, tensor: *mut c_void, address: *mut c_void,
        ) -> Status {
            let set = set_single(executor as usize, Side::$side, index, tensor as usize, address);
            finish(stringify!($name), set)
        }
    )*};
    (member: $($name:ident $side:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            executor: *mut c_void, argument: usize, member: usize, tensors: *mut c_void, address: *mut c_void,
        ) -> Status {
            let set = set_member(executor as usize, Side::$side, argument, member, tensors as usize, address);
            finish(stringify!($name), set)
        }
    )*};
}

addresses!(single: aclSetInputTensorAddr Inputs aclSetOutputTensorAddr Outputs aclSetTensorAddr All
    AclSetInputTensorAddr Inputs AclSetOutputTensorAddr Outputs AclSetTensorAddr All);
addresses!(member: aclSetDynamicInputTensorAddr Inputs aclSetDynamicOutputTensorAddr Outputs
    aclSetDynamicTensorAddr All AclSetDynamicInputTensorAddr Inputs AclSetDynamicOutputTensorAddr Outputs
    AclSetDynamicTensorAddr All);

/// Longest name of an operator in a dump.
const MAX_NAME: usize = 256;

/// Asks for a dump of tensors. There is none: the arguments are checked, and the first call says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclDumpOpTensors(
    kind: *const c_char,
    name: *const c_char,
    tensors: *mut *mut c_void,
    inputs: usize,
    outputs: usize,
    _stream: *mut c_void,
) -> Status {
    let checked = check_dump([kind, name], tensors as usize, inputs, outputs);
    if checked.is_ok() {
        SAID.call_once(|| eprintln!("softacl: aclDumpOpTensors writes nothing; `softacl trace` records operators"));
    }
    finish("aclDumpOpTensors", checked)
}

static SAID: Once = Once::new();

fn check_dump(names: [*const c_char; 2], tensors: usize, inputs: usize, outputs: usize) -> Result<(), Failure> {
    for (name, what) in names.into_iter().zip(["opType", "opName"]) {
        if name.is_null() {
            return Err(Failure::Null(what));
        }
        read_text(name as usize, MAX_NAME, what)?;
    }
    let count = inputs.checked_add(outputs).ok_or_else(|| Failure::Invalid("there are too many tensors".into()))?;
    for tensor in read_array::<usize>(tensors, count as u64, "tensors")? {
        with(tensor, TENSOR, |object| matches!(object, Object::Tensor(_)).then_some(()))?;
    }
    Ok(())
}
