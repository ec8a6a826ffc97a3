//! Sends and receives between two ranks: alone, in a batch, or in a group.

use crate::communicator::{Handle, find};
use crate::failure::{Failure, HcclResult};
use crate::group_calls;
use crate::point::{Point, launch};
use crate::program;
use crate::status::enter;
use crate::types::SendRecvItem;
use std::ffi::c_void;

fn one(
    name: &'static str,
    is_send: bool,
    buffer: (*mut c_void, u64, i32),
    peer: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter(name, || {
        let communicator = find(comm)?;
        let point = Point::new(&communicator, is_send, buffer, peer)?;
        if group_calls::defer_point(&communicator, point, stream)? {
            return Ok(());
        }
        launch(&communicator, &[point], name, stream)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclSend(
    buffer: *mut c_void,
    count: u64,
    data_type: i32,
    peer: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    one("HcclSend", true, (buffer, count, data_type), peer, comm, stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclRecv(
    buffer: *mut c_void,
    count: u64,
    data_type: i32,
    peer: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    one("HcclRecv", false, (buffer, count, data_type), peer, comm, stream)
}

/// Maximum number of items of a batch: far more than one per direction and rank.
const MAX_ITEMS: u32 = 1 << 16;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclBatchSendRecv(
    items: *mut SendRecvItem,
    count: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclBatchSendRecv", || {
        let communicator = find(comm)?;
        if count == 0 || count > MAX_ITEMS {
            return Err(Failure::Parameter(format!("itemNum is {count}; it must be 1 to {MAX_ITEMS}")));
        }
        let words = program::read::<[u64; 4]>(items.cast(), count as usize, "sendRecvInfo")?;
        let mut points = Vec::new();
        for (index, [direction, buffer, elements, packed]) in words.into_iter().enumerate() {
            let is_send = match direction as u32 {
                0 => true,
                1 => false,
                other => {
                    return Err(Failure::Parameter(format!("item {index} has direction {other}: 0 sends, 1 receives")));
                }
            };
            let buffer = (buffer as *mut c_void, elements, packed as u32 as i32);
            points.push(Point::new(&communicator, is_send, buffer, (packed >> 32) as u32)?);
        }
        launch(&communicator, &points, "HcclBatchSendRecv", stream)
    })
}

const _: () = assert!(size_of::<SendRecvItem>() == 32);
