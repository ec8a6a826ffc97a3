/**
 * @file rt/copy.h
 * Single copies, memset and reductions. Batches are in rt/copy_batch.h, copies whose addresses the
 * device reads are in rt/copy_desc.h, device variables are in rt/symbol.h; this header includes the
 * first two.
 *
 * Common rules
 *   - Addresses need no alignment, except for descriptors (64 bytes), reductions (element size) and
 *     aclrtMemsetD32* (4 bytes).
 *   - Overlapping source and destination are not detected. softacl refuses a range that exceeds its
 *     allocation (107000); a card may not detect it.
 *   - A count of 0 succeeds before any other check, except in batches, which check more.
 *   - No copy waits for tasks of other streams. Order copies with one stream or with events.
 */
#ifndef ACL_RT_COPY_H_
#define ACL_RT_COPY_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Direction of a copy. ACL_MEMCPY_DEFAULT is usually sufficient. 5 to 7 do not exist up to CANN 8.1. */
typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,           /**< supported by aclrtMemcpy only */
    ACL_MEMCPY_HOST_TO_DEVICE = 1,         /**< upload */
    ACL_MEMCPY_DEVICE_TO_HOST = 2,         /**< download */
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,       /**< on one device, or between two (see rt/peer.h) */
    ACL_MEMCPY_DEFAULT = 4,                /**< direction determined by the addresses */
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,  /**< upload; source is read before the call returns */
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6, /**< within one device; for rt/copy_desc.h only */
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7  /**< between devices; reserved */
} aclrtMemcpyKind;

/** Operation of aclrtReduceAsync: dst[i] = op(dst[i], src[i]). */
typedef enum aclrtReduceKind {
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM = 10,  /**< dst + src */
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,  /**< the larger value */
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,  /**< the smaller value */
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13 /**< whether they are equal */
} aclrtReduceKind;

/* ------------------------------------------------------------------- copy */

/**
 * Copies `count` bytes and returns when the copy is complete.
 *
 * destMax is the capacity at dst. Any combination of host and device memory is supported. The addresses
 * determine the direction; `kind` is only checked for its range. The call does not wait for tasks
 * queued in streams. Between two devices, enable peer access first (rt/peer.h).
 *
 * Checked in this order:
 *   0        count is 0
 *   100000   dst or src NULL; kind not 0..5
 *   107000   destMax is 0 or less than count
 *   0        dst equals src: no copy, and no context is needed
 *   107002   no current context (the default device of the aclInit configuration suffices)
 *   107022   the device is dropping its tasks
 *   107030   a capture in global or thread-local mode is active
 *   other    the driver refuses the addresses: 107000, 507052, 507899
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                                         aclrtMemcpyKind kind);

/**
 * Queues a copy of `count` bytes on a stream.
 *
 *     aclrtMallocHost(&host, size);                       // pinned, so that the copy does not block
 *     aclrtMalloc(&dev, size, ACL_MEM_MALLOC_HUGE_FIRST);
 *     aclrtMemcpyAsync(dev, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE, stream);
 *     ...                                                 // host must stay valid and unchanged
 *     err = aclrtSynchronizeStream(stream);               // reports errors of the copy
 *
 * When the call is asynchronous
 *   - Both ends are device or pinned memory: queued, in stream order. 0 means "queued".
 *   - One end is pageable, upload or download: the call waits for the whole stream, then copies, and
 *     returns when the copy is complete. It returns errors of earlier tasks. The stream may belong to
 *     another context.
 *   - ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: the source is read before the call returns, so it may be
 *     reused immediately even if it is pageable; the copy to the device is asynchronous.
 *   - Managed memory: queued, in stream order.
 * stream NULL is the default stream. It has no special ordering with respect to other streams.
 *
 * Accepted values of `kind`; the addresses take precedence:
 *   device or pinned at both ends   any kind 0..4; it is corrected to the actual direction
 *   pageable -> device              H2D, D2D or DEFAULT
 *   device -> pageable              D2H, D2D or DEFAULT
 *   pinned -> pageable              unsupported: H2H and DEFAULT give 207000, H2D is used as given
 *   pageable -> pinned              unsupported: H2H and DEFAULT give 207000, D2H is used as given
 *   pageable -> pageable            unsupported: H2H and DEFAULT give 207000, others are used as given
 *   any other combination           107000
 *   kind 5                          host -> device only, else 107000
 *
 * Checked in this order:
 *   0        count is 0
 *   100000   dst or src NULL; kind not 0..5
 *   107017   stream is not a valid stream
 *   107000   count is greater than destMax; kind 5 on a stream bound to a graph
 *   107002   no current context (a configured default device does not suffice)
 *   107000   kind does not match the addresses, see above
 *   207000   host to host; not recorded for aclrtGetLastError
 *   0        dst equals src: no task is queued
 *   107000   pageable memory on a capturing stream
 *   107041   pageable memory while a capture in global or thread-local mode is active elsewhere
 *   107003   stream of another context (asynchronous case)
 *
 * A large copy may be split into several tasks. If a later one cannot be queued, the earlier ones
 * still run.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src,
                                              size_t count, aclrtMemcpyKind kind,
                                              aclrtStream stream);

/**
 * Former function for "asynchronous if possible, else blocking". aclrtMemcpyAsync now behaves this
 * way: copies of pinned and device memory are queued; with pageable memory the call waits for the
 * stream and copies before it returns. Arguments, checks and results are equal.
 *
 *     // old                                                      new: drop the suffix
 *     aclrtMemcpyAsyncWithCondition(dst, n, src, n, kind, stream);
 *     aclrtMemcpyAsync(dst, n, src, n, kind, stream);
 *
 * The only difference: if the location of memory cannot be determined from its address, this function
 * returns 207000, while aclrtMemcpyAsync uses `kind`.
 */
ACL_DEPRECATED_MESSAGE("use aclrtMemcpyAsync, it has the same arguments and the same behavior")
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax,
                                                           const void *src, size_t count,
                                                           aclrtMemcpyKind kind,
                                                           aclrtStream stream);

/**
 * Copies `height` rows of `width` bytes; row starts are dpitch and spitch bytes apart. Bytes between
 * the rows are unchanged. Blocking.
 *
 *   0        width or height is 0, before all other checks
 *   100000   dst or src NULL; width greater than a pitch; kind not H2D, D2H, D2D or DEFAULT
 *   107000   height > 5242880 or width > 5000000; not host to device or device to host
 *   207000   kind D2D: supported by aclrtMemcpy2dAsync only
 *   107002, 107030 as in aclrtMemcpy
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
                                           size_t width, size_t height, aclrtMemcpyKind kind);

/**
 * Asynchronous variant of aclrtMemcpy2d, also from device to device. With pageable memory the call
 * waits for the stream and copies before it returns, as in aclrtMemcpyAsync. Without a current context
 * a NULL stream gives 107000, not 107002.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src,
                                                size_t spitch, size_t width, size_t height,
                                                aclrtMemcpyKind kind, aclrtStream stream);

/* ----------------------------------------------------------------- memset */

/**
 * Sets `count` bytes to the low 8 bits of `value`; host or device memory. Blocking.
 *
 *   0        count is 0
 *   100000   devPtr NULL
 *   107002, 107022, 107030 as in aclrtMemcpy
 *   107000   count is greater than maxCount
 */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value,
                                         size_t count);

/**
 * Asynchronous variant of aclrtMemset. Caution: host memory is set by the calling thread during the
 * call, not after earlier tasks of the stream. count > maxCount -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value,
                                              size_t count, aclrtStream stream);

/**
 * Sets N 32-bit words to `value`. Blocking.
 *
 * 100000 if ptr is NULL or not 4-byte aligned, if memSize is less than 4 * N, or if the memory is
 * pageable. On chips without the feature the call returns 0 and does not change the memory.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N);

/** Asynchronous variant of aclrtMemsetD32. Host memory is set during the call, as in aclrtMemsetAsync. */
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32Async(void *ptr, size_t memSize, uint32_t value,
                                                 size_t N, aclrtStream stream);

/* ----------------------------------------------------------------- reduce */

/**
 * Queues dst[i] = op(dst[i], src[i]) over `count` BYTES (not elements) of device memory, both on
 * the same device. Always asynchronous.
 *
 *   100000   dst or src NULL; reserve not NULL; type not one of FLOAT, FLOAT16, BF16, INT4, INT8,
 *            INT16, INT32, UINT8, UINT16, UINT32
 *   107000   count is 0; kind unknown; SUM over more than 4 GiB
 *   207000   the chip does not support this kind with this type
 *   107008   address not aligned to a 16-bit or 32-bit element
 */
ACL_FUNC_VISIBILITY aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count,
                                              aclrtReduceKind kind, aclDataType type,
                                              aclrtStream stream, void *reserve);

#ifdef __cplusplus
}
#endif

#include "acl/rt/copy_batch.h"
#include "acl/rt/copy_desc.h"

#endif /* ACL_RT_COPY_H_ */
