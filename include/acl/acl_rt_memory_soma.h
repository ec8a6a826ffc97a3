/**
 * @file acl_rt_memory_soma.h
 * Memory pools with allocation and release in stream order (A2). acl.h does not include this file.
 * Ordinary allocation is in rt/memory.h.
 *
 * Tasks queued later on the same stream may use memory from aclrtMemPoolMallocAsync. Unused memory
 * above the release threshold (default 0) is returned to the device when the host synchronizes.
 * docs/decisions.md lists the choices softacl made where no behavior is documented.
 */
#ifndef ACL_ACL_RT_MEMORY_SOMA_H_
#define ACL_ACL_RT_MEMORY_SOMA_H_

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclrtMemPool; /**< a memory pool */

/** Properties of a new pool. Zero the whole struct first. */
typedef struct aclrtMemPoolProps {
    aclrtMemAllocationType allocType; /**< ACL_MEM_ALLOCATION_TYPE_PINNED */
    aclrtMemHandleType handleType;    /**< ACL_MEM_HANDLE_TYPE_NONE */
    aclrtMemLocation location;        /**< the device */
    size_t maxSize;                   /**< softacl: maximum size in bytes, 0 = the limit of the device */
    unsigned char reserved[32];       /**< must be 0 */
} aclrtMemPoolProps;

/** Attribute of a pool. */
typedef enum aclrtMemPoolAttr {
    /** uint32_t */
    ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    /** uint32_t; softacl: 1 = reuse memory of another stream whose release has finished */
    ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
    /** uint32_t */
    ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    /** uint64_t, bytes: unused memory that the pool may retain */
    ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD = 4,
    /** uint64_t, read-only: bytes currently reserved by the pool */
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT = 5,
    /** uint64_t: peak of reserved bytes; may be set to 0 only */
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH = 6,
    /** uint64_t, read-only: bytes currently in use */
    ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT = 7,
    /** uint64_t: peak of bytes in use; may be set to 0 only */
    ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH = 8
} aclrtMemPoolAttr;

/**
 * Creates a pool. NULL, an allocType other than PINNED, a location other than DEVICE, or a reserved
 * byte that is not 0 -> 100000; chip without pools -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolCreate(aclrtMemPool *memPool,
                                                const aclrtMemPoolProps *poolProps);

/** Destroys a pool. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolDestroy(const aclrtMemPool memPool);

/** Sets an attribute. Some are read-only; the peak values can be set to 0 only. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr,
                                                 void *value);

/** Reads an attribute; value points to the type documented at the attribute. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr,
                                                 void *value);

/**
 * Allocates in stream order: *ptr is set before the call returns and is valid for tasks queued later.
 * ptr, memPool or stream NULL -> 100000 (the default stream is not supported); size 0 -> 0; out of
 * memory -> 207001.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolMallocAsync(void **ptr, size_t size, aclrtMemPool memPool,
                                                     aclrtStream stream);

/** Frees memory of a pool in stream order. aclrtFree accepts it too. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream);

/** Returns unused memory to the device, except for at most minBytesToKeep bytes. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_MEMORY_SOMA_H_ */
