/**
 * @file rt/cache.h
 * Cache operations, queued in a stream.
 */
#ifndef ACL_RT_CACHE_H_
#define ACL_RT_CACHE_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_CMO_MAX_BARRIER_NUM 6U /**< barriers in one aclrtBarrierTaskInfo */

/** Cache operation. */
typedef enum aclrtCmoType {
    ACL_RT_CMO_TYPE_PREFETCH = 0,
    ACL_RT_CMO_TYPE_WRITEBACK = 1,
    ACL_RT_CMO_TYPE_INVALID = 2,
    ACL_RT_CMO_TYPE_FLUSH = 3
} aclrtCmoType;

/** One barrier to wait for. */
typedef struct aclrtBarrierCmoInfo {
    aclrtCmoType cmoType;
    uint32_t barrierId;
} aclrtBarrierCmoInfo;

/** Barriers to wait for. */
typedef struct aclrtBarrierTaskInfo {
    size_t barrierNum; /**< how many entries are valid */
    aclrtBarrierCmoInfo cmoInfo[ACL_RT_CMO_MAX_BARRIER_NUM];
} aclrtBarrierTaskInfo;

/**
 * Queues a cache operation for a range of memory. softacl has no caches: the task does nothing.
 * src NULL or size 0 -> 100000; chip without it (310B, 310P, 910) -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType,
                                           aclrtStream stream);

/** aclrtCmoAsync with the number of a barrier (310B). */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithBarrier(void *src, size_t size, aclrtCmoType cmoType,
                                                      uint32_t barrierId, aclrtStream stream);

/** Queues waiting for barriers (310B). */
ACL_FUNC_VISIBILITY aclError aclrtCmoWaitBarrier(aclrtBarrierTaskInfo *taskInfo, aclrtStream stream,
                                                 uint32_t flag);

/** Bytes of a descriptor of a cache operation. */
ACL_FUNC_VISIBILITY aclError aclrtCmoGetDescSize(size_t *size);

/** Writes address and size into such a descriptor. */
ACL_FUNC_VISIBILITY aclError aclrtCmoSetDesc(void *cmoDesc, void *src, size_t size);

/** Queues the cache operation that a descriptor describes. */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithDesc(void *cmoDesc, aclrtCmoType cmoType,
                                                   aclrtStream stream, const void *reserve);

/** Flushes the level-2 cache. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceL2CacheFlush(void *rsv);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_CACHE_H_ */
