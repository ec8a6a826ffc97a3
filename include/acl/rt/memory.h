/**
 * @file rt/memory.h
 * Allocating device and pinned host memory, registering host memory, and querying addresses. Copies
 * are in rt/copy.h, physical memory and address ranges in rt/virtual_memory.h, sharing between
 * processes in rt/ipc.h, pools in acl_rt_memory_soma.h.
 */
#ifndef ACL_RT_MEMORY_H_
#define ACL_RT_MEMORY_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Kind of pages for device memory. The P2P values are for memory that other devices use. Unknown
 * values are accepted.
 */
typedef enum aclrtMemMallocPolicy {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,                /**< 2 MiB pages if possible */
    ACL_MEM_MALLOC_HUGE_ONLY = 1,                 /**< 2 MiB pages or failure */
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,               /**< small pages */
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,            /**< as 0, for use by other devices */
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,             /**< as 1, for use by other devices */
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,           /**< as 2, for use by other devices */
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,               /**< 1 GiB pages or failure */
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,           /**< as 6, for use by other devices */
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

/** Size of a page. */
typedef enum aclrtMemPgType {
    NORMAL_PAGE_TYPE = 0,
    HUGE_PAGE_TYPE = 1,
    HUGE1G_PAGE_TYPE = 2
} aclrtMemPgType;

/** Kind of device memory. */
typedef enum aclrtMemType {
    HBM_TYPE = 0,
    DDR_TYPE = 1,
    P2P_HBM_TYPE = 2,
    P2P_DDR_TYPE = 3
} aclrtMemType;

/** Valid field of aclrtMallocAttrValue. */
typedef enum aclrtMallocAttrType {
    ACL_RT_MEM_ATTR_RSV = 0,       /**< none */
    ACL_RT_MEM_ATTR_MODULE_ID = 1, /**< moduleId */
    ACL_RT_MEM_ATTR_DEVICE_ID = 2, /**< deviceId: must be the current device */
    ACL_RT_MEM_ATTR_VA_FLAG = 3    /**< vaFlag */
} aclrtMallocAttrType;

/** Value of one allocation attribute. */
typedef union aclrtMallocAttrValue {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
} aclrtMallocAttrValue;

/** One allocation attribute. */
typedef struct aclrtMallocAttribute {
    aclrtMallocAttrType attr;
    aclrtMallocAttrValue value;
} aclrtMallocAttribute;

/** List of allocation attributes. */
typedef struct aclrtMallocConfig {
    aclrtMallocAttribute *attrs; /**< may be NULL if numAttrs is 0 */
    size_t numAttrs;
} aclrtMallocConfig;

/** Result of aclrtPointerGetAttributes. */
typedef struct aclrtPtrAttributes {
    aclrtMemLocation location; /**< location of the memory */
    uint32_t pageSize;         /**< bytes */
    uint32_t rsv[4];           /**< reserved */
} aclrtPtrAttributes;

/** Memory in use. */
typedef struct aclrtMemUsageInfo {
    char name[32];
    uint64_t curMemSize;  /**< current bytes */
    uint64_t memPeakSize; /**< peak bytes */
    size_t reserved[8];
} aclrtMemUsageInfo;

/** How aclrtHostRegister maps host memory; the values are bits. */
typedef enum aclrtHostRegisterType {
    ACL_HOST_REGISTER_MAPPED = 0,
    ACL_HOST_REGISTER_IOMEMORY = 4,
    ACL_HOST_REGISTER_READONLY = 8
} aclrtHostRegisterType;

/* Bits for aclrtHostRegisterV2; at least one is required. */
#define ACL_HOST_REG_MAPPED 0x2U         /**< mapped into the address space of devices */
#define ACL_HOST_REG_IOMEMORY 0x4U
#define ACL_HOST_REG_READONLY 0x8U
#define ACL_HOST_REG_PINNED 0x10000000U

/* Bits for aclrtCheckMemType. */
#define ACL_RT_MEM_TYPE_DEV 0x2U
#define ACL_RT_MEM_TYPE_DVPP 0x8U
#define ACL_RT_MEM_TYPE_RSVD 0x10U

/** Device units that may access registered host memory, for aclrtHostMemMapCapabilities. */
typedef enum aclrtHacType {
    ACL_RT_HAC_TYPE_STARS = 0,
    ACL_RT_HAC_TYPE_AICPU = 1,
    ACL_RT_HAC_TYPE_AIC = 2,
    ACL_RT_HAC_TYPE_AIV = 3,
    ACL_RT_HAC_TYPE_PCIEDMA = 4,
    ACL_RT_HAC_TYPE_RDMA = 5,
    ACL_RT_HAC_TYPE_SDMA = 6,
    ACL_RT_HAC_TYPE_DVPP = 7,
    ACL_RT_HAC_TYPE_UDMA = 8,
    ACL_RT_HAC_TYPE_CCU = 9
} aclrtHacType;

/** Result of aclrtHostMemMapCapabilities. */
typedef enum aclrtHostMemMapCapability {
    ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED = 0,
    ACL_RT_HOST_MEM_MAP_SUPPORTED = 1
} aclrtHostMemMapCapability;

/* -------------------------------------------------------------- allocation */

/**
 * Allocates device memory on the device of the current context. The contents are undefined. The
 * address is aligned to at least 64 bytes; the size is rounded up to a multiple of 32, and most chips
 * add 32 spare bytes after it.
 *
 *   100000   devPtr NULL; size 0, or so large that rounding overflows
 *   107002   no current context (a configured default device suffices)
 *   107030   during a capture that is not relaxed
 *   207001   out of memory
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** aclrtMalloc without the spare bytes after the memory. */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void **devPtr, size_t size,
                                                aclrtMemMallocPolicy policy);

/** Equivalent to aclrtMalloc. */
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void **devPtr, size_t size,
                                               aclrtMemMallocPolicy policy);

/**
 * aclrtMalloc with attributes. cfg may be NULL. cfg->numAttrs without cfg->attrs -> 100000; a
 * device id that is not the current device -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(void **devPtr, size_t size,
                                                aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig *cfg);

/** aclrtMallocWithCfg for the task scheduler. */
ACL_FUNC_VISIBILITY aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size,
                                                         aclrtMemMallocPolicy policy,
                                                         aclrtMallocConfig *cfg);

/**
 * Frees device memory without waiting: make sure that no queued task still uses it. NULL is an error
 * (100000), unlike for free(). Needs no current context. Accepts memory of a pool.
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void *devPtr);

/** Waits for the device, then frees like aclrtFree. */
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void *devPtr);

/**
 * Allocates pinned host memory, which asynchronous copies need. Requires a current context (107002).
 * NULL or size 0 -> 100000, out of memory -> 207001.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void **hostPtr, size_t size);

/** aclrtMallocHost with attributes; cfg as in aclrtMallocWithCfg. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size,
                                                    aclrtMallocConfig *cfg);

/** Frees pinned host memory without waiting. NULL -> 100000, device memory -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void *hostPtr);

/** Waits for the device, then frees like aclrtFreeHost. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void *hostPtr);

/** Documented as unnecessary in current versions. size 0 -> an error. */
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void *devPtr, size_t size);

/** Documented as unnecessary in current versions. size 0 -> an error. */
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void *devPtr, size_t size);

/* ------------------------------------------------------------ registration */

/**
 * Registers host memory for devices and returns its device address. That address is for kernels;
 * copies take the host address and are asynchronous for registered memory. The range must start at a
 * page boundary of the host.
 *
 *   100000   ptr or devPtr NULL; size 0
 *   207000   another type than MAPPED (IOMEMORY and READONLY are reserved); chip without the feature
 *   107002   no current context
 *   107000   the address is not aligned to a page
 *   507910   the range is already registered
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type,
                                               void **devPtr);

/**
 * Registers host memory with ACL_HOST_REG_* bits; aclrtHostGetDevicePointer returns the device address
 * if MAPPED is set. flag 0, unknown bits or an unaligned address -> 107000, IOMEMORY and READONLY ->
 * 207000, already registered, or PINNED on memory that is pinned already -> 507910.
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/** Ends a registration; `ptr` is its start. NULL -> 100000, not registered -> 507911. */
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void *ptr);

/** Returns the device address of registered host memory. flag not 0 -> 100000, not mapped -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/** Queries whether a unit of the device can access registered host memory. Unknown hacType -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                                         aclrtHostMemMapCapability *capabilities);

/* ----------------------------------------------------------------- queries */

/**
 * Returns the location of an address, which may be inside an allocation. Needs no current context. The
 * id is the device id for DEVICE and MANAGED, 0 for HOST, and undefined for UNREGISTERED (pageable).
 * Either pointer NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void *ptr,
                                                       aclrtPtrAttributes *attributes);

/**
 * Returns free and total bytes of one kind of memory on the current device, both 0 if the chip lacks
 * it. HBM is answered by every chip, with the memory that it has. NULL -> 100000, values outside the
 * enumeration -> 107016.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/** Returns the memory in use on a device: at most inputNum entries; *outputNum is their number. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo,
                                                  size_t inputNum, size_t *outputNum);

/** Checks `size` addresses against the kinds in memType (ACL_RT_MEM_TYPE_* bits). */
ACL_FUNC_VISIBILITY aclError aclrtCheckMemType(void **addrList, uint32_t size, uint32_t memType,
                                               uint32_t *checkResult, uint32_t reserve);

/**
 * Maps device memory for another device in advance, so that its first access is fast. Moves no data.
 * devPtr NULL, size 0 or flags not 0 -> 100000, bad device -> 107001.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemP2PMap(void *devPtr, size_t size, int32_t dstDevId,
                                            uint64_t flags);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_MEMORY_H_ */
