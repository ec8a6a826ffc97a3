//! Copies, fills and reductions. Each function passes its arguments to the engine as a request; the engine validates.

use crate::argument::{InMutPtr, OutPtr};
use crate::entry::{Call, export};
use ascendcl_sys::*;
use softacl_engine::{
    BatchAttribute, BatchFailure, BatchRequest, CopyRequest, DescriptorRequest, FailIndex, FillRequest,
    Location, OffsetRequest, PlaneRequest, ReduceRequest, Result, WordFillRequest, segv,
};
use std::ffi::c_void;

fn linear(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32) -> CopyRequest {
    CopyRequest { target: dst as usize, capacity: dest_max, source: src as usize, count, kind }
}

export! {
    fn aclrtMemcpy(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32) |call| {
        call.copy(linear(dst, dest_max, src, count, kind))
    }

    fn aclrtMemcpyAsync(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32, stream: aclrtStream) |call| {
        call.copy_async(linear(dst, dest_max, src, count, kind), stream as usize)
    }

    /// Alias of `aclrtMemcpyAsync`, which has since gained the same behavior.
    fn aclrtMemcpyAsyncWithCondition(dst: *mut c_void, dest_max: usize, src: *const c_void, count: usize, kind: i32, stream: aclrtStream) |call| {
        call.copy_async(linear(dst, dest_max, src, count, kind), stream as usize)
    }

    fn aclrtMemcpy2d(dst: *mut c_void, dpitch: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: i32) |call| {
        call.copy_plane(plane(dst, dpitch, src, spitch, width, height, kind))
    }

    fn aclrtMemcpy2dAsync(
        dst: *mut c_void, dpitch: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: i32, stream: aclrtStream
    ) |call| {
        call.copy_plane_async(plane(dst, dpitch, src, spitch, width, height, kind), stream as usize)
    }

    fn aclrtGetMemcpyDescSize(kind: i32, size: OutPtr<usize>) |call| {
        size.set(call.descriptor_size(kind)?)
    }

    fn aclrtSetMemcpyDesc(desc: *mut c_void, kind: i32, src: *mut c_void, dst: *mut c_void, count: usize, config: *mut c_void) |call| {
        call.set_descriptor(DescriptorRequest {
            descriptor: desc as usize, kind, source: src as usize, target: dst as usize, count, config: config as usize,
        })
    }

    fn aclrtMemcpyAsyncWithDesc(desc: *mut c_void, kind: i32, stream: aclrtStream) |call| {
        call.copy_described(desc as usize, kind, stream as usize)
    }

    fn aclrtMemcpyAsyncWithOffset(
        dst: *mut *mut c_void, dest_max: usize, dst_offset: usize, src: *mut *const c_void, count: usize, src_offset: usize, kind: i32, stream: aclrtStream
    ) |call| {
        let request = OffsetRequest {
            target_cell: dst as usize, capacity: dest_max, target_offset: dst_offset,
            source_cell: src as usize, count, source_offset: src_offset, kind,
        };
        call.copy_with_offset(request, stream as usize)
    }

    fn aclrtMemset(ptr: *mut c_void, max: usize, value: i32, count: usize) |call| {
        call.fill(FillRequest { target: ptr as usize, capacity: max, byte: value as u8, count })
    }

    fn aclrtMemsetAsync(ptr: *mut c_void, max: usize, value: i32, count: usize, stream: aclrtStream) |call| {
        call.fill_async(FillRequest { target: ptr as usize, capacity: max, byte: value as u8, count }, stream as usize)
    }

    fn aclrtMemsetD32(ptr: *mut c_void, size: usize, value: u32, count: usize) |call| {
        call.fill_words(WordFillRequest { target: ptr as usize, capacity: size, word: value, count })
    }

    fn aclrtMemsetD32Async(ptr: *mut c_void, size: usize, value: u32, count: usize, stream: aclrtStream) |call| {
        call.fill_words_async(WordFillRequest { target: ptr as usize, capacity: size, word: value, count }, stream as usize)
    }

    fn aclrtReduceAsync(dst: *mut c_void, src: *const c_void, count: u64, kind: i32, data_type: i32, stream: aclrtStream, reserve: *mut c_void) |call| {
        let request = ReduceRequest {
            target: dst as usize, source: src as usize, count: count as usize, kind, element: data_type, reserved: reserve as usize,
        };
        call.reduce_async(request, stream as usize)
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

type Addresses = Option<InMutPtr<*mut c_void>>;
type Sizes = Option<InMutPtr<usize>>;
type Attributes = Option<InMutPtr<aclrtMemcpyBatchAttr>>;

export! {
    fn aclrtMemcpyBatch(
        dsts: Addresses, dest_maxs: Sizes, srcs: Addresses, sizes: Sizes, count: usize,
        attrs: Attributes, indexes: Sizes, attr_count: usize, fail_index: OutPtr<usize>,
    ) |call| {
        let batch = BatchArguments { dsts, dest_maxs, srcs, sizes, count, attrs, indexes, attr_count };
        copy_batch(call, batch, Some(fail_index), None)
    }

    fn aclrtMemcpyBatchV2(
        dsts: Addresses, dest_maxs: Sizes, srcs: Addresses, sizes: Sizes, count: usize,
        attrs: Attributes, indexes: Sizes, attr_count: usize,
    ) |call| {
        let batch = BatchArguments { dsts, dest_maxs, srcs, sizes, count, attrs, indexes, attr_count };
        copy_batch(call, batch, None, None)
    }

    fn aclrtMemcpyBatchAsync(
        dsts: Addresses, dest_maxs: Sizes, srcs: Addresses, sizes: Sizes, count: usize,
        attrs: Attributes, indexes: Sizes, attr_count: usize, fail_index: OutPtr<usize>, stream: aclrtStream,
    ) |call| {
        let batch = BatchArguments { dsts, dest_maxs, srcs, sizes, count, attrs, indexes, attr_count };
        copy_batch(call, batch, Some(fail_index), Some(stream as usize))
    }

    fn aclrtMemcpyBatchAsyncV2(
        dsts: Addresses, dest_maxs: Sizes, srcs: Addresses, sizes: Sizes, count: usize,
        attrs: Attributes, indexes: Sizes, attr_count: usize, stream: aclrtStream,
    ) |call| {
        let batch = BatchArguments { dsts, dest_maxs, srcs, sizes, count, attrs, indexes, attr_count };
        copy_batch(call, batch, None, Some(stream as usize))
    }
}

/// The arguments that all batch functions share.
#[derive(Clone, Copy)]
struct BatchArguments {
    dsts: Addresses,
    dest_maxs: Sizes,
    srcs: Addresses,
    sizes: Sizes,
    count: usize,
    attrs: Attributes,
    indexes: Sizes,
    attr_count: usize,
}

fn copy_batch(
    call: Call<'_>,
    batch: BatchArguments,
    fail_index: Option<OutPtr<usize>>,
    stream: Option<usize>,
) -> Result<()> {
    let BatchArguments { count, attr_count, .. } = batch;
    let guard = segv::enter();
    let sizes_of = |pointer: Sizes, count| pointer.map(|pointer| pointer.array(count, &guard)).transpose();
    let addresses_of =
        |pointer: Addresses| pointer.map(|pointer| pointer.cast::<usize>().array(count, &guard)).transpose();
    // A batch whose sizes are all 0 succeeds whatever the other arguments are, so they are read only if there is
    // something to copy.
    let sizes = sizes_of(batch.sizes, count)?;
    let is_empty = sizes.is_none_or(|sizes| sizes.iter().all(|size| *size == 0));
    let mut attributes = Vec::new();
    let mut request =
        BatchRequest { targets: None, capacities: None, sources: None, sizes, attributes: None, starts: None };
    if !is_empty {
        request.targets = addresses_of(batch.dsts)?;
        request.capacities = sizes_of(batch.dest_maxs, count)?;
        request.sources = addresses_of(batch.srcs)?;
        if let Some(attrs) = batch.attrs {
            attributes.extend(attrs.array(attr_count, &guard)?.iter().map(attribute));
            request.attributes = Some(&attributes);
        }
        request.starts = sizes_of(batch.indexes, attr_count)?;
    }
    let result = match stream {
        Some(stream) => call.copy_batch_async(&request, stream),
        None => call.copy_batch(&request),
    };
    finish_batch(result, fail_index)
}

/// Writes the fail index of a batch and returns its result.
fn finish_batch(result: std::result::Result<(), BatchFailure>, fail_index: Option<OutPtr<usize>>) -> Result<()> {
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
