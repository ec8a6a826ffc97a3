/**
 * @file rt/copy.h
 * Copying, filling and reducing memory: the plain forms. Batches are in rt/copy_batch.h, copies
 * whose addresses the device looks up are in rt/copy_desc.h, device variables are in rt/symbol.h;
 * this header includes the first two.
 *
 * True for all of them
 *   - Addresses need no alignment, except for descriptors (64 bytes), reductions (element size) and
 *     aclrtMemsetD32* (4 bytes).
 *   - Nobody checks that source and destination do not overlap. A range that leaves its allocation is
 *     refused by softacl (107000); a card may not notice.
 *   - A count of 0 is success, before any other check. (A batch checks a little more.)
 *   - No copy waits for work in other streams. Ordering is your job: one stream, or events.
 */
#ifndef ACL_RT_COPY_H_
#define ACL_RT_COPY_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Direction of a copy. When in doubt take ACL_MEMCPY_DEFAULT: the addresses tell it all. */
typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,           /**< only aclrtMemcpy really does this one */
    ACL_MEMCPY_HOST_TO_DEVICE = 1,         /**< upload */
    ACL_MEMCPY_DEVICE_TO_HOST = 2,         /**< download */
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,       /**< on one device, or between two (see rt/peer.h) */
    ACL_MEMCPY_DEFAULT = 4,                /**< direction taken from the addresses */
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,  /**< upload; source is read before the call returns */
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6, /**< within one device; for rt/copy_desc.h only */
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7  /**< between devices; reserved */
} aclrtMemcpyKind;

/** Operation of aclrtReduceAsync: dst[i] = op(dst[i], src[i]). */
typedef enum aclrtReduceKind {
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM = 10,  /**< dst + src */
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,  /**< the larger one */
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,  /**< the smaller one */
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13 /**< whether they are equal */
} aclrtReduceKind;

/* ------------------------------------------------------------------- copy */

/**
 * Copies `count` bytes and returns when they are in place.
 *
 * destMax is the room at dst, counted from dst. Any pair of host and device memory works; `kind` is
 * checked for its range but does not decide anything, the addresses do. Work already queued in
 * streams is not waited for. Between two devices, enable peer access first (rt/peer.h).
 *
 * Checked in this order:
 *   0        count is 0
 *   100000   dst or src NULL; kind not 0..5
 *   107000   destMax is 0 or less than count
 *   0        dst equals src: nothing to do, not even a context is needed
 *   107002   no current context (the default device of the aclInit configuration will do)
 *   107022   the device is dropping its tasks
 *   107030   a capture in global or thread-local mode is going on
 *   other    the driver refuses the addresses: 107000, 507052, 507899
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                                         aclrtMemcpyKind kind);

/**
 * Queues a copy of `count` bytes in a stream.
 *
 *     aclrtMallocHost(&host, size);                       // pinned, so that nothing blocks
 *     aclrtMalloc(&dev, size, ACL_MEM_MALLOC_HUGE_FIRST);
 *     aclrtMemcpyAsync(dev, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE, stream);
 *     ...                                                 // host must stay valid and unchanged
 *     err = aclrtSynchronizeStream(stream);               // errors of the copy show up here
 *
 * When is it asynchronous?
 *   - Both ends are device or pinned memory: queued, in stream order. 0 means "queued".
 *   - One end is pageable, upload or download: the call waits for the whole stream, then copies,
 *     and returns when the data is in place. Errors of earlier tasks come out here. A stream of
 *     another context is fine in this case.
 *   - ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: the source is read before the call returns, so it may be
 *     reused at once even if it is pageable; the second half of the way is asynchronous.
 *   - Managed memory: queued, in stream order.
 * stream NULL is the default stream. It has no special ordering towards other streams.
 *
 * Is `kind` right? What the addresses say wins over what you say:
 *   device or pinned at both ends   any kind 0..4 is accepted and repaired to the real direction
 *   pageable -> device              H2D, D2D or DEFAULT
 *   device -> pageable              D2H, D2D or DEFAULT
 *   pinned -> pageable              no use: H2H and DEFAULT give 207000, H2D is taken as is
 *   pageable -> pinned              no use: H2H and DEFAULT give 207000, D2H is taken as is
 *   pageable -> pageable            no use: H2H and DEFAULT give 207000, others are taken as is
 *   any other combination           107000
 *   kind 5                          host -> device only, else 107000
 *
 * Checked in this order:
 *   0        count is 0
 *   100000   dst or src NULL; kind not 0..5
 *   107017   stream is not a valid stream
 *   107000   count is greater than destMax; kind 5 on a stream bound to a graph
 *   107002   no current context (here the configured default device does not help)
 *   107000   kind does not fit the addresses, see above
 *   207000   host to host; this one is not kept for aclrtGetLastError
 *   0        dst equals src: nothing is queued
 *   107000   pageable memory on a capturing stream
 *   107041   pageable memory while a capture in global or thread-local mode is going on elsewhere
 *   107003   stream of another context (asynchronous case)
 *
 * A large copy may be cut into several tasks. If a later one cannot be queued, the earlier ones
 * still run.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src,
                                              size_t count, aclrtMemcpyKind kind,
                                              aclrtStream stream);

/**
 * Former name for "asynchronous if possible, else blocking". aclrtMemcpyAsync does exactly that
 * today: pinned and device memory is queued, pageable memory makes the call wait for the stream and
 * copy before it returns. Same arguments, same checks, same results.
 *
 *     // old                                                      new: drop the suffix
 *     aclrtMemcpyAsyncWithCondition(dst, n, src, n, kind, stream);
 *     aclrtMemcpyAsync(dst, n, src, n, kind, stream);
 *
 * The one difference: where memory cannot be told apart by its address, this function returns
 * 207000, while aclrtMemcpyAsync believes `kind`.
 */
ACL_DEPRECATED_MESSAGE("use aclrtMemcpyAsync, it has the same arguments and the same behaviour")
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax,
                                                           const void *src, size_t count,
                                                           aclrtMemcpyKind kind,
                                                           aclrtStream stream);

/**
 * Copies a block of `height` rows of `width` bytes; row starts are dpitch and spitch bytes apart.
 * Bytes between the rows are left alone. Blocking.
 *
 *   0        width or height is 0, before all other checks
 *   100000   dst or src NULL; width greater than a pitch; kind not H2D, D2H, D2D or DEFAULT
 *   107000   height > 5242880 or width > 5000000; not host to device or device to host
 *   207000   kind D2D: only aclrtMemcpy2dAsync does it
 *   107002, 107030 as in aclrtMemcpy
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
                                           size_t width, size_t height, aclrtMemcpyKind kind);

/**
 * Queued form of aclrtMemcpy2d, also from device to device. Pageable memory makes it wait for the
 * stream and copy before it returns, as in aclrtMemcpyAsync. Without a current context a NULL
 * stream gives 107000, not 107002.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src,
                                                size_t spitch, size_t width, size_t height,
                                                aclrtMemcpyKind kind, aclrtStream stream);

/* ------------------------------------------------------------------- fill */

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
 * Queued form of aclrtMemset. Careful with host memory: it is filled by the calling thread at once,
 * not after the work queued before. count > maxCount -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value,
                                              size_t count, aclrtStream stream);

/**
 * Sets N 32-bit words to `value`. Blocking.
 *
 * 100000 if ptr is NULL or not 4-byte aligned, if memSize is less than 4 * N, or if the memory is
 * pageable. On chips without the feature the call returns 0 and the memory stays as it is.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N);

/** Queued form of aclrtMemsetD32. Host memory is filled at once, as in aclrtMemsetAsync. */
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
 *   207000   the chip cannot do this kind with this type
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
