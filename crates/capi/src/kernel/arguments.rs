//! Argument lists of kernels: built value by value, then laid out as one block (`aclrtKernelArgs*`). `list` has the data.

use crate::argument::{NonNullArg, OutPtr, UntypedPtr};
use crate::entry::export;
use crate::kernel::function::{self, KernelFunction};
use crate::kernel::list::{ArgumentList, Parameter};
use crate::object;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use softacl_memory::segv;
use std::ffi::c_void;

/// Maximum size of one parameter or placeholder in bytes.
const MAX_PARAMETER: usize = 1 << 20;
/// Bytes of the memory that a program provides for the handle of a list: a mark, and the real handle.
const HANDLE_SIZE: usize = 16;
const HANDLE_MARK: u64 = u64::from_ne_bytes(*b"acl args");

/// Checks the size of a parameter.
fn parameter_size(size: usize) -> Result<usize> {
    match size {
        1..=MAX_PARAMETER => Ok(size),
        _ => fail(Error::Argument(format!("a parameter has 1 to {MAX_PARAMETER} bytes, not {size}"))),
    }
}

/// Applies `access` to a list. Its handle is that of `aclrtKernelArgsInit`, or the memory that the program passed to
/// `aclrtKernelArgsInitByUserMem`.
pub(crate) fn with_list<R>(handle: aclrtArgsHandle, access: impl FnOnce(&mut ArgumentList) -> Result<R>) -> Result<R> {
    let mut stored = [0; HANDLE_SIZE];
    let guard = segv::enter();
    // SAFETY: the program passed the address to the call in progress.
    let is_stored = !handle.is_null() && unsafe { segv::try_read(handle as usize, &mut stored) };
    drop(guard);
    let (mark, key) = stored.split_at(8);
    let handle = match is_stored && mark == HANDLE_MARK.to_ne_bytes() {
        true => usize::from_ne_bytes(key.try_into().unwrap_or_default()) as *mut c_void,
        false => handle,
    };
    object::with(handle, access)?
}

/// Creates a list, which lives as long as its function.
fn new_list(function: aclrtFuncHandle) -> Result<*mut c_void> {
    let handle = object::create(ArgumentList::default())?;
    object::with::<KernelFunction, _>(function, |function| function.lists.push(handle as usize))
        .inspect_err(|_| drop(object::destroy::<ArgumentList>(handle)))?;
    Ok(handle)
}

export! {
    fn aclrtKernelArgsInit(function: aclrtFuncHandle, list: OutPtr<aclrtArgsHandle>) |_call| {
        list.set(new_list(function)?)
    }

    fn aclrtKernelArgsInitByUserMem(
        function: aclrtFuncHandle, list: NonNullArg, memory: NonNullArg, size: usize
    ) |_call| {
        // The values are kept with the list, so the memory for them stays unused.
        let _ = (memory, size);
        let mut stored = HANDLE_MARK.to_ne_bytes().to_vec();
        stored.extend((new_list(function)? as usize).to_ne_bytes());
        let _guard = segv::enter();
        // SAFETY: the program passed the address to the call in progress.
        match unsafe { segv::try_write(list.address(), &stored) } {
            true => Ok(()),
            false => fail(Error::Argument(format!("argsHandle at {:#x} cannot be written", list.address()))),
        }
    }

    fn aclrtKernelArgsGetHandleMemSize(function: aclrtFuncHandle, size: OutPtr<usize>) |_call| {
        function::require(function)?;
        size.set(HANDLE_SIZE)
    }

    fn aclrtKernelArgsGetMemSize(function: aclrtFuncHandle, user_size: usize, size: OutPtr<usize>) |_call| {
        function::require(function)?;
        size.set(parameter_size(user_size)?.next_multiple_of(8))
    }

    fn aclrtKernelArgsAppend(
        list: aclrtArgsHandle, parameter: UntypedPtr, size: usize, handle: OutPtr<aclrtParamHandle>
    ) |_call| {
        let value = parameter.input::<u8>().copy(parameter_size(size)?, "kernel argument")?;
        handle.set(with_list(list, |list| list.append(Parameter::Value(value)))?)
    }

    fn aclrtKernelArgsAppendPlaceHolder(list: aclrtArgsHandle, handle: OutPtr<aclrtParamHandle>) |_call| {
        handle.set(with_list(list, |list| list.append(Parameter::PlaceHolder(Vec::new())))?)
    }

    fn aclrtKernelArgsGetPlaceHolderBuffer(
        list: aclrtArgsHandle, handle: aclrtParamHandle, size: usize, buffer: OutPtr<*mut c_void>
    ) |_call| {
        let size = parameter_size(size)?;
        let address = with_list(list, |list| match list.parameter(handle)? {
            Parameter::PlaceHolder(data) if data.is_empty() => {
                data.resize(size, 0);
                Ok(data.as_mut_ptr())
            }
            Parameter::PlaceHolder(_) => {
                fail(Error::Argument("the placeholder has its buffer already".to_owned()))
            }
            Parameter::Value(_) => fail(Error::Argument("the parameter is a value, not a placeholder".to_owned())),
        })?;
        buffer.set(address.cast())
    }

    fn aclrtKernelArgsParaUpdate(
        list: aclrtArgsHandle, handle: aclrtParamHandle, parameter: UntypedPtr, size: usize
    ) |_call| {
        let value = parameter.input::<u8>().copy(parameter_size(size)?, "kernel argument")?;
        with_list(list, |list| match list.parameter(handle)? {
            Parameter::Value(old) if old.len() == value.len() => {
                *old = value;
                Ok(())
            }
            Parameter::Value(old) => {
                fail(Error::Argument(format!("the parameter has {} bytes, not {}", old.len(), value.len())))
            }
            Parameter::PlaceHolder(_) => {
                fail(Error::Argument("the parameter is a placeholder: write to its buffer".to_owned()))
            }
        })
    }

    fn aclrtKernelArgsFinalize(list: aclrtArgsHandle) |_call| {
        with_list(list, |list| {
            list.is_final = true;
            Ok(())
        })
    }
}
