/**
 * @file rt/error.h
 * The last error of a thread, its text, device faults and their repair, and callbacks after failed
 * tasks. The codes themselves are in acl_base_rt.h and error_codes/.
 */
#ifndef ACL_RT_ERROR_H_
#define ACL_RT_ERROR_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20U      /**< faulty ranges in aclrtMemUceInfoArray */
#define ACL_RT_MAX_RECORD_PA_NUM_PER_DEV 20U /**< faulty ranges kept per device */

/** Whose last error is meant. */
typedef enum aclrtLastErrLevel {
    ACL_RT_THREAD_LEVEL = 0 /**< of the calling thread; the only choice */
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
    size_t arraySize; /**< how many entries are valid */
    aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

/** Detail of a device fault; which field counts depends on aclrtErrorInfo.errorType. */
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
 * Returns the code of the latest failure in the runtime layer in this thread and clears it. Success
 * does not clear it, a newer failure replaces it. Codes of the outer layer (100000 and the like)
 * are never kept. Unknown level -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/** The same without clearing. */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/**
 * Text about the latest failure of this thread, newest message first; NULL if there is none.
 * Getting it clears it. The text stays valid until the next call in the same thread; do not free it. With
 * err_msg_mode "1" in the aclInit configuration it is kept for the process instead.
 */
ACL_FUNC_VISIBILITY const char *aclGetRecentErrMsg(void);

/* -------------------------------------------------------------- device faults */

/** Lists faulty ranges of device memory: at most arraySize of them, *retSize says how many. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                                size_t arraySize, size_t *retSize);

/** Tries to repair faulty ranges of device memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                               size_t arraySize);

/** Describes the latest fault of a device; errorType ACL_RT_NO_ERROR if there is none. */
ACL_FUNC_VISIBILITY aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo);

/** Tries to repair what aclrtGetErrorVerbose described, if tryRepair is set there. */
ACL_FUNC_VISIBILITY aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo);

/* --------------------------------------------------------------- failed tasks */

/** Sets the one callback after failed tasks; NULL removes it. */
ACL_DEPRECATED_MESSAGE("use aclrtExceptionInfoCallbackRegister")
ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/** Adds a callback after failed tasks. */
ACL_FUNC_VISIBILITY aclError
aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback);

/** Removes a callback after failed tasks. */
ACL_FUNC_VISIBILITY aclError
aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback);

/** Sets the callback after failed kernels of one binary. */
ACL_FUNC_VISIBILITY aclError aclrtBinarySetExceptionCallback(aclrtBinHandle binHandle,
                                                             aclrtOpExceptionCallback callback,
                                                             void *userData);

/** Number of the failed task. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Number of its stream. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Thread that queued it. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Its device. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Its error code. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

/** Device address and bytes of the arguments of a failed kernel. */
ACL_FUNC_VISIBILITY aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo *info,
                                                           void **devArgsPtr,
                                                           uint32_t *devArgsLen);

/** Handle of a failed kernel. */
ACL_FUNC_VISIBILITY aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo *info,
                                                                 aclrtFuncHandle *func);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_ERROR_H_ */
