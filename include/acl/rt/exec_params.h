/**
 * @file rt/exec_params.h
 * Execution parameters of tasks: options, timeouts, arithmetic overflow and core limits. Options of a
 * single stream are in rt/stream.h, of a single kernel launch in rt/kernel.h.
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

/** Kind of core that a limit applies to. */
typedef enum aclrtDevResLimitType {
    ACL_RT_DEV_RES_CUBE_CORE = 0,
    ACL_RT_DEV_RES_VECTOR_CORE = 1
} aclrtDevResLimitType;

/* ------------------------------------------------------------------- options */

/** Sets an option for the whole process; a context may override it (aclrtCtxSetSysParamOpt). */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads an option of the process. value NULL -> 100000, never set: the value is 0. */
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/* ------------------------------------------------------------------ timeouts */

/**
 * Limits how long streams wait for events, in seconds, for waits that are submitted afterwards in this
 * process; 0 = no limit. After an expired wait the next synchronize returns 107020. Not on 310P.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/** Sets the kernel timeout. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/** Sets the kernel timeout; *actualTimeout is the value in use. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/** Sets the kernel timeout in milliseconds. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout);

/** Returns the kernel timeout in milliseconds. */
ACL_FUNC_VISIBILITY aclError aclrtGetOpExecuteTimeout(uint32_t *const timeoutMs);

/** Returns the resolution of the kernel timeout. */
ACL_FUNC_VISIBILITY aclError aclrtGetOpTimeOutInterval(uint64_t *interval);

/* ------------------------------------------------------------------ overflow */

/** Sets the overflow switch of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);

/** Reads the overflow switch of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/** Sets how overflow is handled on the current device. */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

/** Returns how overflow is handled on the current device. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);

/** Reads the overflow state on a stream. */
ACL_FUNC_VISIBILITY aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize,
                                                    aclrtStream stream);

/** Clears the overflow state on a stream. */
ACL_FUNC_VISIBILITY aclError aclrtResetOverflowStatus(aclrtStream stream);

/** Reads the floating-point overflow state on a stream. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtGetFloatOverflowStatus(void *outputAddr, uint64_t outputSize,
                                                         aclrtStream stream);

/** Clears the floating-point overflow state on a stream. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtResetFloatOverflowStatus(aclrtStream stream);

/** aclrtGetFloatOverflowStatus with a check mode. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtNpuGetFloatOverFlowStatus(void *outputAddr, uint64_t outputSize,
                                                            uint32_t checkMode,
                                                            aclrtStream stream);

/** aclrtResetFloatOverflowStatus with a check mode. Not documented. */
ACL_FUNC_VISIBILITY aclError aclrtNpuClearFloatOverFlowStatus(uint32_t checkMode,
                                                              aclrtStream stream);

/* --------------------------------------------------------------- core limits */

/** Sets the core limit of a device. */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t value);

/** Returns the core limit of a device. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t *value);

/** Removes the core limits of a device. */
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceResLimit(int32_t deviceId);

/** Sets the core limit of a stream; see aclrtUseStreamResInCurrentThread. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t value);

/** Returns the core limit of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t *value);

/** Removes the core limits of a stream. */
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);

/** Applies the core limits of a stream to this thread. */
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/** Stops applying the core limits of a stream to this thread. */
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

/** Returns the core limit in effect on this thread. */
ACL_FUNC_VISIBILITY aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_EXEC_PARAMS_H_ */
