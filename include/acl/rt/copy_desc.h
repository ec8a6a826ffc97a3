/**
 * @file rt/copy_desc.h
 * Copies within one device whose addresses the device reads when the task runs, not the host when it
 * is queued. Ordinary copies are in rt/copy.h.
 *
 * To use a descriptor: query its size, allocate device memory for it (64-byte aligned, as aclrtMalloc
 * guarantees), fill it, launch it any number of times, and free it after the last launch has
 * finished.
 *
 *     size_t descSize;
 *     void *desc;
 *     aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &descSize);
 *     aclrtMalloc(&desc, descSize, ACL_MEM_MALLOC_HUGE_FIRST);
 *     aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, srcDev, dstDev, size, NULL);
 *     aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream);
 *     aclrtSynchronizeStream(stream);
 *     aclrtFree(desc);
 *
 * The descriptor is read when the task runs. A later aclrtSetMemcpyDesc, or a kernel that writes to
 * it, changes copies that are queued but have not started. This allows the device to decide what a
 * queued copy does.
 */
#ifndef ACL_RT_COPY_DESC_H_
#define ACL_RT_COPY_DESC_H_

#include "acl/rt/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads the size of a descriptor in bytes: 32 on A2, A3 and 310B, 64 on 950.
 *
 *   100000   descSize NULL; kind not 0..7
 *   207000   kind is not ACL_MEMCPY_INNER_DEVICE_TO_DEVICE; chip without descriptors (910, 310P)
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t *descSize);

/**
 * Writes source, destination and length into a descriptor. Note the order: source before
 * destination. Blocking: on return the device reads the new contents. `config` must be NULL. It may
 * be called again while launches of the descriptor are queued, as long as none of them is running.
 *
 *   100000   desc, srcAddr or dstAddr NULL; kind not 0..7; count 0; config not NULL
 *   207000   kind is not ACL_MEMCPY_INNER_DEVICE_TO_DEVICE; chip without descriptors
 *   107000   count above 4 GiB; desc not 64-byte aligned or not in device memory; srcAddr and
 *            dstAddr not both in the memory of one device
 *   107002   no current context
 *
 * Caution: exactly 4 GiB is accepted, but the length has 32 bits, so 0 is stored and no byte is
 * copied.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetMemcpyDesc(void *desc, aclrtMemcpyKind kind, void *srcAddr,
                                                void *dstAddr, size_t count, void *config);

/**
 * Queues the copy that the descriptor describes when the task runs. Always asynchronous; the
 * descriptor and both ranges must stay valid until the task has finished. See the example at the top.
 *
 * This is one of the few calls that do not accept NULL for the default stream. Use the handle from
 * aclrtCtxGetCurrentDefaultStream instead.
 *
 *   100000   desc NULL; kind not 0..7; stream NULL
 *   207000   chip without descriptors
 *   107017   bad stream handle
 *   207000   kind is not ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
 *   107000   desc not in device memory or not 64-byte aligned
 *   107002   no current context
 *   107003   stream of another context
 *   later    a bad address in the descriptor fails the task; the next wait reports it
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind,
                                                      aclrtStream stream);

/**
 * Queues a copy from *src + srcDataOffset to *dst + dstDataOffset. dst and src are device addresses
 * of cells that hold device addresses; the device reads the cells when the task runs.
 *
 *   0        count is 0
 *   107000   kind is not ACL_MEMCPY_INNER_DEVICE_TO_DEVICE; dst or src NULL; count above destMax or
 *            4 GiB; an offset of more than 48 bits; dstDataOffset + count beyond destMax
 *   207000   chip without the feature (310B, 310P)
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithOffset(void **dst, size_t destMax,
                                                        size_t dstDataOffset, const void **src,
                                                        size_t count, size_t srcDataOffset,
                                                        aclrtMemcpyKind kind, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_COPY_DESC_H_ */
