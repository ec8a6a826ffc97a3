/**
 * @file rt/exec_params.h
 * How tasks are executed: options, timeouts, arithmetic overflow, and how many cores they may use.
 * Options of a single stream are in rt/stream.h, of a single kernel launch in rt/kernel.h.
 */
#ifndef ACL_RT_EXEC_PARAMS_H_
#define ACL_RT_EXEC_PARAMS_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How floating-point overflow is handled. */
typedef enum aclrtFloatOverflowMode {
    ACL_RT_OVERFLOW_MODE_SATURATION = 0,
    ACL_RT_OVERFLOW_MODE_INFNAN = 1,
    ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;

/** Kind of core that a limit is about. */
typedef enum aclrtDevResLimitType {
    ACL_RT_DEV_RES_CUBE_CORE = 0,
    ACL_RT_DEV_RES_VECTOR_CORE = 1
} aclrtDevResLimitType;

/* ------------------------------------------------------------------- options */

/** Sets an option for the whole process; a context may override it (aclrtCtxSetSysParamOpt). */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads an option of the process. value NULL -> 100000, never set -> 107021. */
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/* ------------------------------------------------------------------ timeouts */

/** Limit in seconds for waits of streams. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/** Limit for one kernel. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/** Limit for one kernel; *actualTimeout is the limit that is used. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/** Limit in milliseconds for one kernel. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout);

/** The limit for one kernel in milliseconds. */
ACL_FUNC_VISIBILITY aclError aclrtGetOpExecuteTimeout(uint32_t *const timeoutMs);

/** Step of the kernel timeout. */
ACL_FUNC_VISIBILITY aclError aclrtGetOpTimeOutInterval(uint64_t *interval);

/* ------------------------------------------------------------------ overflow */

/** Sets the overflow switch of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);

/** Reads the overflow switch of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/** Chooses how overflow is handled on the current device. */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

/** How overflow is handled on the current device. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);

/** Reads the overflow state; takes a stream. */
ACL_FUNC_VISIBILITY aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize,
                                                    aclrtStream stream);

/** Clears the overflow state; takes a stream. */
ACL_FUNC_VISIBILITY aclError aclrtResetOverflowStatus(aclrtStream stream);

/** Reads the floating-point overflow state; takes a stream. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtGetFloatOverflowStatus(void *outputAddr, uint64_t outputSize,
                                                         aclrtStream stream);

/** Clears the floating-point overflow state; takes a stream. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtResetFloatOverflowStatus(aclrtStream stream);

/** aclrtGetFloatOverflowStatus with a mode of checking. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtNpuGetFloatOverFlowStatus(void *outputAddr, uint64_t outputSize,
                                                            uint32_t checkMode,
                                                            aclrtStream stream);

/** aclrtResetFloatOverflowStatus with a mode of checking. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtNpuClearFloatOverFlowStatus(uint32_t checkMode,
                                                              aclrtStream stream);

/* --------------------------------------------------------------- core limits */

/** Limits the cores that are used on a device. */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t value);

/** The limit of a device. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t *value);

/** Removes the limits of a device. */
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceResLimit(int32_t deviceId);

/** Limits the cores for a stream; see the "use" function below. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t value);

/** The limit of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t *value);

/** Removes the limits of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);

/** From now on this thread works with the limits of the stream. */
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/** Undoes that. */
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

/** The limit that counts in this thread. */
ACL_FUNC_VISIBILITY aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_EXEC_PARAMS_H_ */
