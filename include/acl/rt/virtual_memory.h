/**
 * @file rt/virtual_memory.h
 * Physical memory and address ranges as separate objects: reserve addresses, allocate physical memory,
 * map it, and share it with other processes. Ordinary allocation is in rt/memory.h.
 *
 *     aclrtPhysicalMemProp prop = {0};
 *     prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
 *     prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
 *     prop.memAttr = ACL_MEM_HUGE;
 *     prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;              // .id = 0
 *     aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &gran);
 *     size = (size + gran - 1) / gran * gran;
 *     aclrtReserveMemAddress(&va, size, 0, NULL, 0);
 *     aclrtMallocPhysical(&handle, size, &prop, 0);
 *     aclrtMapMem(va, size, 0, handle, 0);
 *     ...
 *     aclrtUnmapMem(va); aclrtFreePhysical(handle); aclrtReleaseMemAddress(va);
 */
#ifndef ACL_RT_VIRTUAL_MEMORY_H_
#define ACL_RT_VIRTUAL_MEMORY_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of aclrtMemExportToShareableHandle*. */
#define ACL_RT_VMM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL /**< any process may import */

/* linkIdx of aclrtMemMapSelectedLink. */
#define ACL_RT_MEM_LINK_IDX_0 0U
#define ACL_RT_MEM_LINK_IDX_1 1U

/** Properties of physical memory, for aclrtMallocPhysical. */
typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;         /**< ACL_MEM_HANDLE_TYPE_NONE */
    aclrtMemAllocationType allocationType; /**< ACL_MEM_ALLOCATION_TYPE_PINNED */
    aclrtMemAttr memAttr;                  /**< page size and kind */
    aclrtMemLocation location;             /**< HOST, DEVICE or HOST_NUMA */
    uint64_t reserve;                      /**< 0 */
} aclrtPhysicalMemProp;

/** Requested granularity. */
typedef enum aclrtMemGranularityOptions {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,     /**< the smallest that works */
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1, /**< the one that performs best */
    ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF   /**< not a choice */
} aclrtMemGranularityOptions;

/** Type of a shareable handle. */
typedef enum aclrtMemSharedHandleType {
    ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT = 1, /**< a uint64_t; within one host */
    ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2   /**< an aclrtMemFabricHandle; within a pod */
} aclrtMemSharedHandleType;

/** Shareable handle that works on other servers of a pod. */
typedef struct aclrtMemFabricHandle {
    uint8_t data[128];
} aclrtMemFabricHandle;

/** Access flags of mapped memory. Only READWRITE can be set. */
typedef enum aclrtMemAccessFlags {
    ACL_RT_MEM_ACCESS_FLAGS_NONE = 0x0,
    ACL_RT_MEM_ACCESS_FLAGS_READ = 0x1,
    ACL_RT_MEM_ACCESS_FLAGS_READWRITE = 0x3
} aclrtMemAccessFlags;

/** Access flags of one location; argument of aclrtMemSetAccess. */
typedef struct aclrtMemAccessDesc {
    aclrtMemAccessFlags flags;
    aclrtMemLocation location;
    uint8_t rsv[12];
} aclrtMemAccessDesc;

/** Link over which mapped memory is accessed. */
typedef enum aclrtMemLinkType {
    ACL_RT_MEM_ACCESS_LINK_SIO = 0,
    ACL_RT_MEM_ACCESS_LINK_HCCS = 1,
    ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH = 2,
    ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH = 3
} aclrtMemLinkType;

/* ---------------------------------------------------------------- addresses */

/**
 * Reserves a range of addresses without memory. alignment must be 0; expectPtr is the preferred
 * address, or NULL; flags must be 0 (1 is accepted for old programs). virPtr NULL, size 0 or other
 * flags -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment,
                                                    void *expectPtr, uint64_t flags);

/** aclrtReserveMemAddress for ranges that uncached operators must not access (A3): expectPtr is
 *  required, and size must be a multiple of 1 GiB. */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddressNoUCMemory(void **virPtr, size_t size,
                                                              size_t alignment, void *expectPtr,
                                                              uint64_t flags);

/** Releases a range. Unmap all memory in it first. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtReleaseMemAddress(void *virPtr);

/** Returns start and size of the allocation that contains ptr. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize);

/* ----------------------------------------------------------- physical memory */

/**
 * Allocates physical memory. size should be a multiple of the granularity. handle or prop NULL, flags
 * not 0, a handleType other than NONE, an allocationType other than PINNED, a location other than
 * HOST, DEVICE and HOST_NUMA, or DDR on a device -> 100000; bad device -> 107001; out of memory ->
 * 207001.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                                                 const aclrtPhysicalMemProp *prop, uint64_t flags);

/** Releases a handle. The memory is freed when no handle, mapping or import of it remains. */
ACL_FUNC_VISIBILITY aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/** Returns the granularity for memory like prop; 2 MiB for ACL_MEM_HUGE, 1 GiB for ACL_MEM_HUGE1G. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                                              aclrtMemGranularityOptions option,
                                                              size_t *granularity);

/** Returns an additional handle of the memory mapped at virPtr; free it with aclrtFreePhysical. */
ACL_FUNC_VISIBILITY aclError aclrtMemRetainAllocationHandle(void *virPtr,
                                                            aclrtDrvMemHandle *handle);

/** Returns the properties that a handle was created with. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                                       aclrtPhysicalMemProp *prop);

/* ------------------------------------------------------------------- mapping */

/**
 * Maps physical memory at virPtr in a reserved range, with read and write access for its device. offset
 * must be 0, and size the size of the physical memory. size 0 or flags not 0 -> 100000. Do not mix
 * memory of several devices, or own and imported memory, in one range.
 */
ACL_FUNC_VISIBILITY aclError aclrtMapMem(void *virPtr, size_t size, size_t offset,
                                         aclrtDrvMemHandle handle, uint64_t flags);

/** aclrtMapMem without access; grant access with aclrtMemSetAccess. */
ACL_FUNC_VISIBILITY aclError aclrtMemMapNoAccess(void *virPtr, size_t size, size_t offset,
                                                 aclrtDrvMemHandle handle, uint64_t flags);

/** Removes a mapping, which must no longer be in use. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtUnmapMem(void *virPtr);

/** Sets the access to mapped memory, one entry per location. NULL or count 0 -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc,
                                               size_t count);

/** Returns the access of a location as aclrtMemAccessFlags. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAccess(void *virPtr, aclrtMemLocation *location,
                                               uint64_t *flag);

/** Maps the memory at virPtrSrc a second time at virPtrDst, over a chosen link (A3). */
ACL_FUNC_VISIBILITY aclError aclrtMemMapSelectedLink(void *virPtrDst, size_t size, void *virPtrSrc,
                                                     uint32_t linkIdx);

/** Suggests a link for memory that will be mapped. */
ACL_FUNC_VISIBILITY aclError aclrtMemMapSetLink(aclrtDrvMemHandle handle,
                                                aclrtMemLinkType adviceLink);

/* ------------------------------------------------------------------- sharing */

/**
 * Creates a shareable handle: a number that another process can import. handleType other than NONE ->
 * 100000, unknown flags -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                                             aclrtMemHandleType handleType,
                                                             uint64_t flags,
                                                             uint64_t *shareableHandle);

/**
 * aclrtMemExportToShareableHandle with a handle type: shareableHandle points to a uint64_t (DEFAULT) or
 * to an aclrtMemFabricHandle (FABRIC, A3 only). Unknown shareType -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle,
                                                               uint64_t flags,
                                                               aclrtMemSharedHandleType shareType,
                                                               void *shareableHandle);

/** Imports a shareable handle in another process as a handle for deviceId, which can then be mapped. */
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle,
                                                               int32_t deviceId,
                                                               aclrtDrvMemHandle *handle);

/** aclrtMemImportFromShareableHandle for V2 handles, on the current device; flags must be 0. */
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle,
                                                                 aclrtMemSharedHandleType shareType,
                                                                 uint64_t flags,
                                                                 aclrtDrvMemHandle *handle);

/** Allows processes to import, by the id that aclrtDeviceGetBareTgid returned to them. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid,
                                                             size_t pidNum);

/** aclrtMemSetPidToShareableHandle for V2 handles. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandleV2(void *shareableHandle,
                                                               aclrtMemSharedHandleType shareType,
                                                               int32_t *pid, size_t pidNum);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_VIRTUAL_MEMORY_H_ */
