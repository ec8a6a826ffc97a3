//! The copy family. Each function hands its raw arguments over as a request; the engine checks.

use crate::entry::{ArgValue, array_in_guard, enter_with, export, out};
use ascendcl_sys::*;
use softacl_engine::{
    BatchAttribute, BatchFailure, BatchRequest, Caller, CopyRequest, DescriptorRequest, FailIndex, FillRequest,
    Location, OffsetRequest, PlaneRequest, ReduceRequest, Result, WordFillRequest, segv,
};
use std::ffi::c_void;

fn linear(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32) -> CopyRequest {
    CopyRequest { target: dst as usize, capacity: dest_max, source: src as usize, count, kind }
}

export! {
    fn aclrtMemcpy(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32) |caller| {
        caller.copy(linear(dst, dest_max, src, count, kind))
    }

    fn aclrtMemcpyAsync(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32, stream: aclrtStream) |caller| {
        caller.copy_async(linear(dst, dest_max, src, count, kind), stream as usize)
    }

    /// The same as `aclrtMemcpyAsync`: what it once did more, that one does too.
    fn aclrtMemcpyAsyncWithCondition(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32, stream: aclrtStream) |caller| {
        caller.copy_async(linear(dst, dest_max, src, count, kind), stream as usize)
    }

    fn aclrtMemcpy2d(dst: *mut c_void, dpitch: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: i32) |caller| {
        caller.copy_plane(plane(dst, dpitch, src, spitch, width, height, kind))
    }

    fn aclrtMemcpy2dAsync(
        dst: *mut c_void, dpitch: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: i32, stream: aclrtStream
    ) |caller| {
        caller.copy_plane_async(plane(dst, dpitch, src, spitch, width, height, kind), stream as usize)
    }

    fn aclrtGetMemcpyDescSize(kind: i32, size: *mut usize) |caller| {
        let size = out(size, "descSize")?;
        size.set(caller.descriptor_size(kind)?)
    }

    fn aclrtSetMemcpyDesc(desc: *mut c_void, kind: i32, src: *mut c_void, dst: *mut c_void, count: usize, config: *mut c_void) |caller| {
        caller.set_descriptor(DescriptorRequest {
            descriptor: desc as usize, kind, source: src as usize, target: dst as usize, count, config: config as usize,
        })
    }

    fn aclrtMemcpyAsyncWithDesc(desc: *mut c_void, kind: i32, stream: aclrtStream) |caller| {
        caller.copy_described(desc as usize, kind, stream as usize)
    }

    fn aclrtMemcpyAsyncWithOffset(
        dst: *mut *mut c_void, dest_max: usize, dst_offset: usize, src: *mut *const c_void, count: usize, src_offset: usize, kind: i32, stream: aclrtStream
    ) |caller| {
        let request = OffsetRequest {
            target_cell: dst as usize, capacity: dest_max, target_offset: dst_offset,
            source_cell: src as usize, count, source_offset: src_offset, kind,
        };
        caller.copy_with_offset(request, stream as usize)
    }

    fn aclrtMemset(ptr: *mut c_void, max: usize, value: i32, count: usize) |caller| {
        caller.fill(FillRequest { target: ptr as usize, capacity: max, byte: value as u8, count })
    }

    fn aclrtMemsetAsync(ptr: *mut c_void, max: usize, value: i32, count: usize, stream: aclrtStream) |caller| {
        caller.fill_async(FillRequest { target: ptr as usize, capacity: max, byte: value as u8, count }, stream as usize)
    }

    fn aclrtMemsetD32(ptr: *mut c_void, size: usize, value: u32, count: usize) |caller| {
        caller.fill_words(WordFillRequest { target: ptr as usize, capacity: size, word: value, count })
    }

    fn aclrtMemsetD32Async(ptr: *mut c_void, size: usize, value: u32, count: usize, stream: aclrtStream) |caller| {
        caller.fill_words_async(WordFillRequest { target: ptr as usize, capacity: size, word: value, count }, stream as usize)
    }

    fn aclrtReduceAsync(dst: *mut c_void, src: *const c_void, count: u64, kind: i32, data_type: i32, stream: aclrtStream, reserve: *mut c_void) |caller| {
        let request = ReduceRequest {
            target: dst as usize, source: src as usize, count: count as usize, kind, element: data_type, reserved: reserve as usize,
        };
        caller.reduce_async(request, stream as usize)
    }
}

#[allow(clippy::too_many_arguments, reason = "the shape of the C call")]
fn plane(
    dst: *mut c_void,
    dpitch: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> PlaneRequest {
    PlaneRequest {
        target: dst as usize,
        target_pitch: dpitch,
        source: src as usize,
        source_pitch: spitch,
        width,
        height,
        kind,
    }
}

/// The arguments that all batch calls share.
#[derive(Clone, Copy)]
struct BatchArguments {
    dsts: *mut *mut c_void,
    dest_maxs: *mut usize,
    srcs: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    attrs: *mut aclrtMemcpyBatchAttr,
    indexes: *mut usize,
    attr_count: usize,
}

/// Declares a batch call: with or without a fail index, with or without a stream.
macro_rules! export_batch {
    ($(fn $name:ident($($fail:ident: *mut usize)?; $($stream:ident: aclrtStream)?);)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the shape of the C call")]
        pub unsafe extern "C" fn $name(
            dsts: *mut *mut c_void, dest_maxs: *mut usize, srcs: *mut *mut c_void, sizes: *mut usize, count: usize,
            attrs: *mut aclrtMemcpyBatchAttr, indexes: *mut usize, attr_count: usize,
            $($fail: *mut usize,)? $($stream: aclrtStream,)?
        ) -> aclError {
            let arguments = BatchArguments { dsts, dest_maxs, srcs, sizes, count, attrs, indexes, attr_count };
            #[allow(unused_mut, unused_assignments)]
            let (mut fail, mut wants_fail, mut stream) = (std::ptr::null_mut::<usize>(), false, None::<usize>);
            $(fail = $fail; wants_fail = true;)?
            $(stream = Some($stream as usize);)?
            let facts = || {
                let mut facts = softacl_faults::MatchContext::default();
                crate::faults::record_argument(&mut facts, "size", count.into());
                if let Some(stream) = stream {
                    crate::faults::record_argument(&mut facts, "stream", ArgValue::Pointer(stream));
                }
                facts
            };
            enter_with(stringify!($name), facts, |caller| copy_batch(caller, arguments, wants_fail.then_some(fail), stream))
        }
    )*};
}

export_batch! {
    fn aclrtMemcpyBatch(fail_index: *mut usize;);
    fn aclrtMemcpyBatchV2(;);
    fn aclrtMemcpyBatchAsync(fail_index: *mut usize; stream: aclrtStream);
    fn aclrtMemcpyBatchAsyncV2(; stream: aclrtStream);
}

fn copy_batch(
    caller: Caller<'_>,
    arguments: BatchArguments,
    fail_index: Option<*mut usize>,
    stream: Option<usize>,
) -> Result<()> {
    let fail_index = fail_index.map(|pointer| out(pointer, "failIndex")).transpose()?;
    let BatchArguments { count, attr_count, .. } = arguments;
    let _hearing = segv::enter();
    // A batch of which every size is 0 succeeds whatever the other arguments are, so they are looked
    // at only when there is something to copy.
    let sizes = array_in_guard(arguments.sizes.cast_const(), count, "sizes")?;
    let empty = sizes.is_none_or(|sizes| sizes.iter().all(|size| *size == 0));
    let mut attributes = Vec::new();
    let mut request =
        BatchRequest { targets: None, capacities: None, sources: None, sizes, attributes: None, starts: None };
    if !empty {
        request.targets = array_in_guard(arguments.dsts.cast::<usize>().cast_const(), count, "dsts")?;
        request.capacities = array_in_guard(arguments.dest_maxs.cast_const(), count, "destMaxs")?;
        request.sources = array_in_guard(arguments.srcs.cast::<usize>().cast_const(), count, "srcs")?;
        if let Some(attrs) = array_in_guard(arguments.attrs.cast_const(), attr_count, "attrs")? {
            attributes.extend(attrs.iter().map(attribute));
            request.attributes = Some(&attributes);
        }
        request.starts = array_in_guard(arguments.indexes.cast_const(), attr_count, "attrsIndexes")?;
    }
    let result = match stream {
        Some(stream) => caller.copy_batch_async(&request, stream),
        None => caller.copy_batch(&request),
    };
    let (index, result) = match result {
        Ok(()) => (Some(usize::MAX), Ok(())),
        Err(BatchFailure { error, index }) => {
            let index = match index {
                FailIndex::Untouched => None,
                FailIndex::None => Some(usize::MAX),
                FailIndex::Entry(index) => Some(index),
            };
            if let (Some(checker), None | Some(usize::MAX)) = (crate::check::checker(), index)
                && fail_index.is_some()
            {
                checker.batch_failed(index.is_none());
            }
            (index, Err(error))
        }
    };
    if let (Some(fail_index), Some(index)) = (fail_index, index) {
        fail_index.set(index)?;
    }
    result
}

fn attribute(attribute: &aclrtMemcpyBatchAttr) -> BatchAttribute {
    let location = |location: aclrtMemLocation| Location { kind: location.r#type, device: location.id };
    BatchAttribute {
        target: location(attribute.dstLoc),
        source: location(attribute.srcLoc),
        reserved_is_zero: attribute.rsv.iter().all(|byte| *byte == 0),
    }
}
