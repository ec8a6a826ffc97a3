/**
 * @file rt/error.h
 * The last error of a thread, its message, device faults and their repair, and callbacks after failed
 * tasks. The codes are defined in acl_base_rt.h and error_codes/.
 */
#ifndef ACL_RT_ERROR_H_
#define ACL_RT_ERROR_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20U      /**< maximum faulty ranges in aclrtMemUceInfoArray */
#define ACL_RT_MAX_RECORD_PA_NUM_PER_DEV 20U /**< maximum faulty ranges recorded per device */

/** Scope of the last error. */
typedef enum aclrtLastErrLevel {
    ACL_RT_THREAD_LEVEL = 0 /**< the calling thread; the only choice */
} aclrtLastErrLevel;

/** Kind of device fault. */
typedef enum aclrtErrorType {
    ACL_RT_NO_ERROR = 0,
    ACL_RT_ERROR_MEMORY = 1,
    ACL_RT_ERROR_L2 = 2,
    ACL_RT_ERROR_AICORE = 3,
    ACL_RT_ERROR_LINK = 4,
    ACL_RT_ERROR_L3_PORT = 5,
    ACL_RT_ERROR_OTHERS = 0xFFFF
} aclrtErrorType;

/** Cause of an AI core fault. */
typedef enum aclrtAicoreErrorType {
    ACL_RT_AICORE_ERROR_UNKNOWN = 0,
    ACL_RT_AICORE_ERROR_SW = 1,
    ACL_RT_AICORE_ERROR_HW_LOCAL = 2
} aclrtAicoreErrorType;

/** One faulty range of device memory. */
typedef struct aclrtMemUceInfo {
    void *addr;
    size_t len;
    size_t reserved[14];
} aclrtMemUceInfo;

/** Faulty ranges of device memory. */
typedef struct aclrtMemUceInfoArray {
    size_t arraySize; /**< number of valid entries */
    aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

/** Detail of a device fault; aclrtErrorInfo.errorType determines the valid field. */
typedef union aclrtErrorInfoDetail {
    aclrtMemUceInfoArray uceInfo;       /**< ACL_RT_ERROR_MEMORY */
    aclrtAicoreErrorType aicoreErrType; /**< ACL_RT_ERROR_AICORE */
} aclrtErrorInfoDetail;

/** A device fault. */
typedef struct aclrtErrorInfo {
    uint8_t tryRepair; /**< 1: aclrtRepairError may help */
    uint8_t hasDetail; /**< 1: `detail` is valid */
    uint8_t reserved[2];
    aclrtErrorType errorType;
    aclrtErrorInfoDetail detail;
} aclrtErrorInfo;

/* ---------------------------------------------------------------- last error */

/**
 * Returns the code of the latest runtime-layer failure on this thread and clears it. Success does not
 * clear it; a newer failure replaces it. Codes of the outer layer (such as 100000) are not recorded.
 * Unknown level -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/** Like aclrtGetLastError, but does not clear the error. */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/**
 * Returns and clears the messages of recent failures on this thread, newest first; NULL if none are
 * recorded. The text stays valid until the next call on the same thread; do not free it. With
 * err_msg_mode "1" in the aclInit configuration messages are recorded per process.
 */
ACL_FUNC_VISIBILITY const char *aclGetRecentErrMsg(void);

/* -------------------------------------------------------------- device faults */

/** Lists faulty ranges of device memory: at most arraySize of them; *retSize is their number. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                                size_t arraySize, size_t *retSize);

/** Attempts to repair faulty ranges of device memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                               size_t arraySize);

/** Describes the latest fault of a device; errorType is ACL_RT_NO_ERROR without a fault. */
ACL_FUNC_VISIBILITY aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo);

/** Attempts to repair a fault that aclrtGetErrorVerbose described with tryRepair set. */
ACL_FUNC_VISIBILITY aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo);

/* --------------------------------------------------------------- failed tasks */

/** Sets a single callback that runs after failed tasks; NULL removes it. */
ACL_DEPRECATED_MESSAGE("use aclrtExceptionInfoCallbackRegister")
ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/** Adds a callback that runs after failed tasks. */
ACL_FUNC_VISIBILITY aclError
aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback);

/** Removes a callback that runs after failed tasks. */
ACL_FUNC_VISIBILITY aclError
aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback);

/** Sets the callback that runs after failed kernels of one binary. */
ACL_FUNC_VISIBILITY aclError aclrtBinarySetExceptionCallback(aclrtBinHandle binHandle,
                                                             aclrtOpExceptionCallback callback,
                                                             void *userData);

/** Returns the id of the failed task. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Returns the stream id of the failed task. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Returns the id of the thread that queued the failed task. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Returns the device id of the failed task. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Returns the error code of the failed task. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

/** Reads device address and size of the arguments of a failed kernel. */
ACL_FUNC_VISIBILITY aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo *info,
                                                           void **devArgsPtr,
                                                           uint32_t *devArgsLen);

/** Reads the handle of a failed kernel. */
ACL_FUNC_VISIBILITY aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo *info,
                                                                 aclrtFuncHandle *func);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_ERROR_H_ */
