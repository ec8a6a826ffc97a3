/**
 * @file rt/virtual_memory.h
 * Physical memory and address ranges as separate things: reserve addresses, create physical memory,
 * map one onto the other, share the physical memory with other processes. Simple allocation is in
 * rt/memory.h.
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

/** What to create with aclrtMallocPhysical. */
typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;         /**< ACL_MEM_HANDLE_TYPE_NONE */
    aclrtMemAllocationType allocationType; /**< ACL_MEM_ALLOCATION_TYPE_PINNED */
    aclrtMemAttr memAttr;                  /**< page size and kind */
    aclrtMemLocation location;             /**< HOST, DEVICE or HOST_NUMA */
    uint64_t reserve;                      /**< 0 */
} aclrtPhysicalMemProp;

/** Which granularity is asked for. */
typedef enum aclrtMemGranularityOptions {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,     /**< the smallest that works */
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1, /**< the one that performs best */
    ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF   /**< not a choice */
} aclrtMemGranularityOptions;

/** Form of a shareable handle. */
typedef enum aclrtMemSharedHandleType {
    ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT = 1, /**< a uint64_t; within one machine */
    ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2   /**< an aclrtMemFabricHandle; within a pod */
} aclrtMemSharedHandleType;

/** Shareable handle that works on other servers of a pod. */
typedef struct aclrtMemFabricHandle {
    uint8_t data[128];
} aclrtMemFabricHandle;

/** Rights for mapped memory. */
typedef enum aclrtMemAccessFlags {
    ACL_RT_MEM_ACCESS_FLAGS_NONE = 0x0,
    ACL_RT_MEM_ACCESS_FLAGS_READ = 0x1,
    ACL_RT_MEM_ACCESS_FLAGS_READWRITE = 0x3
} aclrtMemAccessFlags;

/** Who gets which right; argument of aclrtMemSetAccess. */
typedef struct aclrtMemAccessDesc {
    aclrtMemAccessFlags flags;
    aclrtMemLocation location;
    uint8_t rsv[12];
} aclrtMemAccessDesc;

/** Link over which mapped memory is reached. */
typedef enum aclrtMemLinkType {
    ACL_RT_MEM_ACCESS_LINK_SIO = 0,
    ACL_RT_MEM_ACCESS_LINK_HCCS = 1,
    ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH = 2,
    ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH = 3
} aclrtMemLinkType;

/* ---------------------------------------------------------------- addresses */

/**
 * Reserves a range of addresses without memory behind it. alignment must be 0; expectPtr is the
 * address you would like, or NULL; flags must be 0 (1 is accepted for old programs). virPtr NULL,
 * size 0 or other flags -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment,
                                                    void *expectPtr, uint64_t flags);

/** The same for ranges that uncached operators must not touch (A3): expectPtr is required and size
 *  is a multiple of 1 GiB. */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddressNoUCMemory(void **virPtr, size_t size,
                                                              size_t alignment, void *expectPtr,
                                                              uint64_t flags);

/** Gives a range back. Unmap everything in it first. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtReleaseMemAddress(void *virPtr);

/** Start and size of the allocation that contains ptr. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize);

/* ----------------------------------------------------------- physical memory */

/**
 * Creates physical memory. size should be a multiple of the granularity. handle or prop NULL, flags
 * not 0, a handleType other than NONE, another allocationType than PINNED, a location that is
 * neither HOST, DEVICE nor HOST_NUMA, or DDR on a device -> 100000; bad device -> 107001; out of
 * memory -> 207001.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                                                 const aclrtPhysicalMemProp *prop, uint64_t flags);

/** Drops the handle. The memory goes when it is mapped nowhere and imported nowhere any more. */
ACL_FUNC_VISIBILITY aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/** Granularity for memory like prop; 2 MiB for ACL_MEM_HUGE, 1 GiB for ACL_MEM_HUGE1G. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                                              aclrtMemGranularityOptions option,
                                                              size_t *granularity);

/** Handle of the memory mapped at virPtr. Counts as one more handle: free it too. */
ACL_FUNC_VISIBILITY aclError aclrtMemRetainAllocationHandle(void *virPtr,
                                                            aclrtDrvMemHandle *handle);

/** The properties that a handle was created with. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                                       aclrtPhysicalMemProp *prop);

/* ------------------------------------------------------------------- mapping */

/**
 * Maps physical memory at virPtr, somewhere in a reserved range, with read and write access for its
 * device. offset must be 0 and size that of the physical memory. size 0 or flags not 0 -> 100000.
 * Do not mix devices, or own and imported memory, in one range.
 */
ACL_FUNC_VISIBILITY aclError aclrtMapMem(void *virPtr, size_t size, size_t offset,
                                         aclrtDrvMemHandle handle, uint64_t flags);

/** aclrtMapMem without any access; grant it with aclrtMemSetAccess. */
ACL_FUNC_VISIBILITY aclError aclrtMemMapNoAccess(void *virPtr, size_t size, size_t offset,
                                                 aclrtDrvMemHandle handle, uint64_t flags);

/** Undoes a mapping. Nothing may use it any more. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtUnmapMem(void *virPtr);

/** Grants rights for mapped memory, one entry per place. NULL or count 0 -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc,
                                               size_t count);

/** Rights that a place has, as aclrtMemAccessFlags. */
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
 * Makes a number that another process can turn into a handle of the same memory. handleType other
 * than NONE -> 100000, unknown flags -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                                             aclrtMemHandleType handleType,
                                                             uint64_t flags,
                                                             uint64_t *shareableHandle);

/**
 * The same with a choice of form: shareableHandle points to a uint64_t (DEFAULT) or to an
 * aclrtMemFabricHandle (FABRIC, A3 only). Unknown shareType -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle,
                                                               uint64_t flags,
                                                               aclrtMemSharedHandleType shareType,
                                                               void *shareableHandle);

/** Turns such a number into a handle for deviceId, in another process; then map it. */
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle,
                                                               int32_t deviceId,
                                                               aclrtDrvMemHandle *handle);

/** The same for handles of the V2 function, on the current device; flags must be 0. */
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle,
                                                                 aclrtMemSharedHandleType shareType,
                                                                 uint64_t flags,
                                                                 aclrtDrvMemHandle *handle);

/** Admits processes by the id that aclrtDeviceGetBareTgid told them. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid,
                                                             size_t pidNum);

/** The same for handles of the V2 function. */
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandleV2(void *shareableHandle,
                                                               aclrtMemSharedHandleType shareType,
                                                               int32_t *pid, size_t pidNum);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_VIRTUAL_MEMORY_H_ */
