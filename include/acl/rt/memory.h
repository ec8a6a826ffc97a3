/**
 * @file rt/memory.h
 * Allocating device and pinned host memory, registering your own host memory, and asking about
 * addresses. Copies are in rt/copy.h, physical memory and address ranges in rt/virtual_memory.h,
 * sharing between processes in rt/ipc.h, pools in acl_rt_memory_soma.h.
 */
#ifndef ACL_RT_MEMORY_H_
#define ACL_RT_MEMORY_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Kind of pages for device memory. The P2P forms are for memory that other devices use. Unknown
 * values are not refused.
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

/** Which field of aclrtMallocAttrValue counts. */
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

/** What aclrtPointerGetAttributes tells. */
typedef struct aclrtPtrAttributes {
    aclrtMemLocation location; /**< where the address points to */
    uint32_t pageSize;         /**< bytes */
    uint32_t rsv[4];           /**< reserved */
} aclrtPtrAttributes;

/** Memory in use. */
typedef struct aclrtMemUsageInfo {
    char name[32];
    uint64_t curMemSize;  /**< bytes now */
    uint64_t memPeakSize; /**< bytes at most so far */
    size_t reserved[8];
} aclrtMemUsageInfo;

/** How aclrtHostRegister maps host memory; the values are bits. */
typedef enum aclrtHostRegisterType {
    ACL_HOST_REGISTER_MAPPED = 0,
    ACL_HOST_REGISTER_IOMEMORY = 4,
    ACL_HOST_REGISTER_READONLY = 8
} aclrtHostRegisterType;

/* Bits for aclrtHostRegisterV2; at least one is needed. */
#define ACL_HOST_REG_MAPPED 0x2U         /**< devices get an address for it */
#define ACL_HOST_REG_IOMEMORY 0x4U
#define ACL_HOST_REG_READONLY 0x8U
#define ACL_HOST_REG_PINNED 0x10000000U

/* Bits for aclrtCheckMemType. */
#define ACL_RT_MEM_TYPE_DEV 0x2U
#define ACL_RT_MEM_TYPE_DVPP 0x8U
#define ACL_RT_MEM_TYPE_RSVD 0x10U

/** Units that might reach registered host memory, for aclrtHostMemMapCapabilities. */
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

/** Answer of aclrtHostMemMapCapabilities. */
typedef enum aclrtHostMemMapCapability {
    ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED = 0,
    ACL_RT_HOST_MEM_MAP_SUPPORTED = 1
} aclrtHostMemMapCapability;

/* -------------------------------------------------------------- allocation */

/**
 * Allocates device memory on the device of the current context. The content is undefined. The
 * address is aligned to at least 64 bytes; the size is rounded up to 32, and most chips get 32
 * spare bytes behind it.
 *
 *   100000   devPtr NULL; size 0, or so large that rounding overflows
 *   107002   no current context (the configured default device will do)
 *   107030   during a capture that is not relaxed
 *   207001   out of memory
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** aclrtMalloc without the spare bytes behind the memory. */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void **devPtr, size_t size,
                                                aclrtMemMallocPolicy policy);

/** The same as aclrtMalloc. */
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
 * Frees device memory. Waits for nothing: make sure that no queued task still uses it. NULL is an
 * error (100000), unlike free(). No current context is needed. Memory of a pool is welcome too.
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void *devPtr);

/** Waits for the device, then does aclrtFree. */
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void *devPtr);

/**
 * Allocates pinned host memory, the kind that asynchronous copies like. Needs a current context all the same (107002). 100000 for NULL or size 0, 207001 if there is no
 * more.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void **hostPtr, size_t size);

/** aclrtMallocHost with attributes; cfg as in aclrtMallocWithCfg. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size,
                                                    aclrtMallocConfig *cfg);

/** Frees pinned host memory; waits for nothing. NULL -> 100000, device memory -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void *hostPtr);

/** Waits for the device, then does aclrtFreeHost. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void *hostPtr);

/** Documented as unnecessary in current versions. size 0 -> an error. */
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void *devPtr, size_t size);

/** Documented as unnecessary in current versions. size 0 -> an error. */
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void *devPtr, size_t size);

/* ------------------------------------------------------------ registration */

/**
 * Makes your own host memory usable by devices and returns their address for it. That address is
 * for kernels; copies take the host address, and become asynchronous by the registration. Start at
 * a page boundary (4 KiB).
 *
 *   100000   ptr or devPtr NULL; size 0
 *   207000   bits in type other than IOMEMORY and READONLY; chip without it
 *   107002   no current context
 *   507910   the range is registered already
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type,
                                               void **devPtr);

/**
 * Registers host memory with ACL_HOST_REG_* bits; aclrtHostGetDevicePointer gives the address for
 * devices if MAPPED is among them. flag 0 or unknown bits -> 107000, registered already -> 507910.
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/** Undoes a registration; `ptr` is the start of it. NULL -> 100000, not registered -> 507911. */
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void *ptr);

/** The device address of registered host memory. flag not 0 -> 100000, not mapped -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/** Whether a unit of the device can reach registered host memory. Unknown hacType -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                                         aclrtHostMemMapCapability *capabilities);

/* ----------------------------------------------------------------- queries */

/**
 * Tells where an address points to; addresses inside an allocation are fine, no current context is
 * needed. DEVICE and MANAGED come with the device id, HOST with id 0; for UNREGISTERED (pageable)
 * the id means nothing. Either pointer NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void *ptr,
                                                       aclrtPtrAttributes *attributes);

/**
 * Free and total bytes of one kind of memory on the current device. NULL -> 100000, a number that
 * is no kind of memory -> 107016.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/** Memory in use on a device: fills at most inputNum entries, *outputNum says how many. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo,
                                                  size_t inputNum, size_t *outputNum);

/** Checks `size` addresses against the kinds in memType (ACL_RT_MEM_TYPE_* bits). */
ACL_FUNC_VISIBILITY aclError aclrtCheckMemType(void **addrList, uint32_t size, uint32_t memType,
                                               uint32_t *checkResult, uint32_t reserve);

/**
 * Maps device memory for another device ahead of time, so that its first access is not slow. Moves
 * no data.
 * devPtr NULL, size 0 or flags not 0 -> 100000, bad device -> 107001.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemP2PMap(void *devPtr, size_t size, int32_t dstDevId,
                                            uint64_t flags);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_MEMORY_H_ */
