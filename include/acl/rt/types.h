/**
 * @file rt/types.h
 * Terms, common results and types that several runtime headers share. It declares no functions. Types
 * of a single area are declared in the header of that area.
 *
 * Terms
 *   current context   every thread has at most one, set by aclrtSetDevice, aclrtCreateContext or
 *                     aclrtSetCurrentContext; a new thread has none.
 *   default stream    the stream that is created with a context; a NULL stream argument means it.
 *   pinned            host memory from aclrtMallocHost or registered with aclrtHostRegister*.
 *   pageable          all other host memory: malloc, stack, mmap.
 *   asynchronous      the call appends a task to the stream and returns; 0 means "queued". Later
 *                     errors are reported by a wait for the stream.
 *   capture           between aclmdlRICaptureBegin and aclmdlRICaptureEnd a stream records tasks
 *                     instead of running them.
 *
 * Common results, which are not repeated at each function
 *   100000   an out pointer or a required pointer is NULL, or an enum value is out of range
 *   107001   no such device
 *   107002   the call needs a current context and this thread has none
 *   107003   the stream belongs to a context other than the current one
 *   107017   a handle is neither NULL nor valid, or was destroyed
 *   107022   the device is dropping its tasks (aclrtDeviceTaskAbort)
 *   107027   the stream is capturing, and the call would wait for it or destroy it
 *   107030   a capture in global or thread-local mode forbids this blocking call
 *   207000   the chip lacks the feature
 *
 * No runtime call requires aclInit.
 */
#ifndef ACL_RT_TYPES_H_
#define ACL_RT_TYPES_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclrtDrvMemHandle; /**< physical memory, see rt/virtual_memory.h */
typedef void *aclrtBinary;       /**< kernel binary in host memory */
typedef void *aclrtBinHandle;    /**< loaded kernel binary */
typedef void *aclrtFuncHandle;   /**< kernel function of a loaded binary */
typedef void *aclrtArgsHandle;   /**< argument list under construction */
typedef void *aclrtParamHandle;  /**< one argument of an argument list */
typedef void *aclmdlRI;          /**< captured or built graph, ready to run */

/** Function that a stream calls on the host, see aclrtLaunchCallback. */
typedef void (*aclrtCallback)(void *userData);

/** Information about a failed task; opaque, read it with aclrtGet*FromExceptionInfo. */
typedef struct rtExceptionInfo aclrtExceptionInfo;

/** Callback after a failed task. It must be short and must not wait for the device. */
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *exceptionInfo);

/** Callback after a failed kernel of one binary. */
typedef void (*aclrtOpExceptionCallback)(aclrtExceptionInfo *exceptionInfo, void *userData);

/** Kind of memory location. */
typedef enum aclrtMemLocationType {
    ACL_MEM_LOCATION_TYPE_HOST = 0,         /**< pinned host memory */
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,       /**< memory of device `id` */
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2, /**< pageable; returned by queries only */
    ACL_MEM_LOCATION_TYPE_MANAGED = 3,      /**< visible to host and device under one address */
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4     /**< host memory of NUMA node `id` */
} aclrtMemLocationType;

/** Memory location. Note the order: id first (aclrtMemManagedLocation has the type first). */
typedef struct aclrtMemLocation {
    uint32_t id;               /**< device or NUMA node; ignored for HOST */
    aclrtMemLocationType type; /**< kind of location */
} aclrtMemLocation;

/** Allocation type of physical memory. */
typedef enum aclrtMemAllocationType {
    ACL_MEM_ALLOCATION_TYPE_PINNED = 0 /**< never moved or swapped; the only choice */
} aclrtMemAllocationType;

/** How physical memory can be shared with other processes. */
typedef enum aclrtMemHandleType {
    ACL_MEM_HANDLE_TYPE_NONE = 0, /**< through the shareable handles of this API */
    ACL_MEM_HANDLE_TYPE_POSIX = 2 /**< as a file descriptor */
} aclrtMemHandleType;

/** Kind of memory, for aclrtGetMemInfo and aclrtMallocPhysical. */
typedef enum aclrtMemAttr {
    ACL_DDR_MEM = 0,             /**< all pages of DDR */
    ACL_HBM_MEM = 1,             /**< all pages of high-bandwidth memory; the usual choice */
    ACL_DDR_MEM_HUGE = 2,        /**< 2 MiB pages of DDR */
    ACL_DDR_MEM_NORMAL = 3,      /**< small pages of DDR */
    ACL_HBM_MEM_HUGE = 4,        /**< 2 MiB pages of high-bandwidth memory */
    ACL_HBM_MEM_NORMAL = 5,      /**< small pages of high-bandwidth memory */
    ACL_DDR_MEM_P2P_HUGE = 6,    /**< as 2, for use by other devices */
    ACL_DDR_MEM_P2P_NORMAL = 7,  /**< as 3, for use by other devices */
    ACL_HBM_MEM_P2P_HUGE = 8,    /**< as 4, for use by other devices */
    ACL_HBM_MEM_P2P_NORMAL = 9,  /**< as 5, for use by other devices */
    ACL_HBM_MEM_HUGE1G = 10,     /**< 1 GiB pages of high-bandwidth memory */
    ACL_HBM_MEM_P2P_HUGE1G = 11, /**< as 10, for use by other devices */
    ACL_MEM_NORMAL = 12,         /**< small pages of any kind of memory */
    ACL_MEM_HUGE = 13,           /**< 2 MiB pages of any kind of memory */
    ACL_MEM_HUGE1G = 14,         /**< 1 GiB pages of any kind of memory */
    ACL_MEM_P2P_NORMAL = 15,     /**< as 12, for use by other devices */
    ACL_MEM_P2P_HUGE = 16,       /**< as 13, for use by other devices */
    ACL_MEM_P2P_HUGE1G = 17      /**< as 14, for use by other devices */
} aclrtMemAttr;

/** Processes of one server in a pod that are allowed to import memory or notifies. */
typedef struct aclrtServerPid {
    uint32_t sdid; /**< device id within the pod */
    int32_t *pid;  /**< process ids from aclrtDeviceGetBareTgid */
    size_t num;    /**< number of process ids */
} aclrtServerPid;

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_TYPES_H_ */
