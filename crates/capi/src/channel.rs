//! Channels that transfer lists of tensors.
//!
//! A card has programs on the other side of a channel. There are none here, so what a thread of the program sends,
//! a thread of the program receives, through the same handle or another one with the same name and device.

use crate::argument::{Argument as _, NonNullArg, OutPtr, TextPtr};
use crate::entry::{Call, export, value};
use crate::tensor_list;
use ascendcl_sys::rows;
use softacl_engine::Result;
use softacl_queues::channel::{Channels, DEFAULT_CAPACITY};
use softacl_queues::timeout::Timeout;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::LazyLock;

static CHANNELS: LazyLock<Channels> = LazyLock::new(Channels::default);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn acltdtCreateChannel(device: u32, name: *const c_char) -> *mut c_void {
    value(rows::acltdtCreateChannel, ptr::null_mut(), |call| open(call, device, name, DEFAULT_CAPACITY))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn acltdtCreateChannelWithCapacity(
    device: u32,
    name: *const c_char,
    capacity: usize,
) -> *mut c_void {
    value(rows::acltdtCreateChannelWithCapacity, ptr::null_mut(), |call| open(call, device, name, capacity))
}

fn open(call: Call<'_>, device: u32, name: *const c_char, capacity: usize) -> Result<*mut c_void> {
    call.require_supported()?;
    // SAFETY: the argument of the call, which the program permits to read.
    let name = unsafe { TextPtr::<*const c_char>::from_program(name, "name") }?.read()?;
    call.machine().logical_device(device.into())?;
    Ok(CHANNELS.open(device, name, capacity)?.raw() as *mut c_void)
}

export! {
    fn acltdtDestroyChannel(channel: NonNullArg) |call| {
        call.require_supported()?;
        CHANNELS.close(channel.address())
    }

    fn acltdtStopChannel(channel: NonNullArg) |call| {
        call.require_supported()?;
        CHANNELS.stop(channel.address())
    }

    fn acltdtCleanChannel(channel: NonNullArg) |call| {
        call.require_supported()?;
        CHANNELS.clean(channel.address())
    }

    fn acltdtQueryChannelSize(channel: NonNullArg<*const c_void>, size: OutPtr<usize>) |call| {
        call.require_supported()?;
        size.set(CHANNELS.len(channel.address())?)
    }

    fn acltdtSendTensor(channel: NonNullArg<*const c_void>, list: *const c_void, timeout: i32) |call| {
        call.require_supported()?;
        let timeout = Timeout::from_ms(timeout)?;
        // A handle that does not exist is reported before the tensors are read.
        CHANNELS.len(channel.address())?;
        CHANNELS.send(channel.address(), tensor_list::tensors(list)?, timeout)
    }

    fn acltdtReceiveTensor(channel: NonNullArg<*const c_void>, list: *mut c_void, timeout: i32) |call| {
        call.require_supported()?;
        let timeout = Timeout::from_ms(timeout)?;
        tensor_list::check_empty(list)?;
        let (name, tensors) = CHANNELS.receive(channel.address(), timeout)?;
        tensor_list::fill(list, name, tensors)
    }
}
