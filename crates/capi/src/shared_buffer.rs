//! Shared buffers under their two families of names: `aclrt*Buf*` and `acltdt*Buf*`.
//!
//! Both families work on the same buffers. The families differ in the chips that document them.

use crate::argument::{InPtr, NonNullArg, OutPtr};
use crate::entry::export;
use softacl_engine::{Result, segv};
use softacl_queues::buffer::{BufferKey, Buffers};
use std::ffi::c_void;
use std::sync::LazyLock;

static BUFFERS: LazyLock<Buffers> = LazyLock::new(Buffers::default);

/// Declares both names of a function. The body is that of the family whose parameters are given.
macro_rules! export_both {
    ($(
        fn $first:ident, $second:ident($($arg:ident: $kind:ty),*) $body:block
    )*) => {
        export! {$(
            fn $first($($arg: $kind),*) |call| {
                call.require_supported()?;
                $body
            }

            fn $second($($arg: $kind),*) |call| {
                call.require_supported()?;
                $body
            }
        )*}
    };
}

export! {
    fn aclrtAllocBuf(buffer: OutPtr<*mut c_void>, size: usize) |call| {
        call.require_supported()?;
        hand_over(buffer, BUFFERS.allocate(size)?)
    }

    /// The type has no effect, because there is only one kind of memory for buffers.
    fn acltdtAllocBuf(size: usize, _kind: u32, buffer: OutPtr<*mut c_void>) |call| {
        call.require_supported()?;
        hand_over(buffer, BUFFERS.allocate(size)?)
    }
}

export_both! {
    fn aclrtFreeBuf, acltdtFreeBuf(buffer: NonNullArg) { BUFFERS.free(buffer.address()) }

    fn aclrtCopyBufRef, acltdtCopyBufRef(buffer: NonNullArg, copy: OutPtr<*mut c_void>) {
        hand_over(copy, BUFFERS.share(buffer.address())?)
    }

    fn aclrtGetBufData, acltdtGetBufData(buffer: NonNullArg, data: OutPtr<*mut c_void>, size: OutPtr<usize>) {
        let extent = BUFFERS.extent(buffer.address())?;
        size.set(extent.capacity)?;
        data.set(extent.address as *mut c_void)
    }

    fn aclrtSetBufDataLen, acltdtSetBufDataLen(buffer: NonNullArg, len: usize) {
        BUFFERS.set_len(buffer.address(), len)
    }

    fn aclrtGetBufDataLen, acltdtGetBufDataLen(buffer: NonNullArg, len: OutPtr<usize>) {
        len.set(BUFFERS.len(buffer.address())?)
    }

    fn aclrtSetBufUserData, acltdtSetBufUserData(buffer: NonNullArg, data: InPtr<u8>, size: usize, offset: usize) {
        let guard = segv::enter();
        let bytes = data.array(size, &guard)?;
        BUFFERS.set_user_data(buffer.address(), offset, bytes)
    }

    fn aclrtGetBufUserData, acltdtGetBufUserData(buffer: NonNullArg, data: OutPtr<u8>, size: usize, offset: usize) {
        data.write(&BUFFERS.user_data(buffer.address(), offset, size)?)
    }

    fn aclrtAppendBufChain, acltdtAppendBufChain(head: NonNullArg, buffer: NonNullArg) {
        BUFFERS.append(head.address(), buffer.address())
    }

    fn aclrtGetBufChainNum, acltdtGetBufChainNum(head: NonNullArg, count: OutPtr<u32>) {
        count.set(BUFFERS.chain_len(head.address())? as u32)
    }

    fn aclrtGetBufFromChain, acltdtGetBufFromChain(head: NonNullArg, index: u32, buffer: OutPtr<*mut c_void>) {
        buffer.set(BUFFERS.chain_member(head.address(), index as usize)? as *mut c_void)
    }
}

/// Writes the handle of a new reference.
fn hand_over(place: OutPtr<*mut c_void>, key: BufferKey) -> Result<()> {
    place.set_or(key.raw() as *mut c_void, || drop(BUFFERS.free(key.raw())))
}
