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

#define ACL_RT_CMO_MAX_BARRIER_NUM 6U /**< maximum barriers in one aclrtBarrierTaskInfo */

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
    size_t barrierNum; /**< number of valid entries */
    aclrtBarrierCmoInfo cmoInfo[ACL_RT_CMO_MAX_BARRIER_NUM];
} aclrtBarrierTaskInfo;

/**
 * Queues a cache operation on a memory range. A no-op in softacl, which models no device caches. src
 * NULL or size 0 -> 100000; a type other than PREFETCH, or a chip without the feature (310B, 310P, 910)
 * -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType,
                                           aclrtStream stream);

/** aclrtCmoAsync with a barrier id (310B). */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithBarrier(void *src, size_t size, aclrtCmoType cmoType,
                                                      uint32_t barrierId, aclrtStream stream);

/** Queues a wait for barriers (310B). */
ACL_FUNC_VISIBILITY aclError aclrtCmoWaitBarrier(aclrtBarrierTaskInfo *taskInfo, aclrtStream stream,
                                                 uint32_t flag);

/** Reads the size of a cache operation descriptor in bytes. The descriptor is in device memory. */
ACL_FUNC_VISIBILITY aclError aclrtCmoGetDescSize(size_t *size);

/** Writes address and size into a cache operation descriptor. */
ACL_FUNC_VISIBILITY aclError aclrtCmoSetDesc(void *cmoDesc, void *src, size_t size);

/** Queues the cache operation given by a descriptor. */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithDesc(void *cmoDesc, aclrtCmoType cmoType,
                                                   aclrtStream stream, const void *reserve);

/** Flushes the level-2 cache. Not documented; a no-op in softacl. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceL2CacheFlush(void *rsv);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_CACHE_H_ */
