/**
 * @file rt/context.h
 * Contexts own streams and events on one device; each thread has at most one current context.
 * Programs that only call aclrtSetDevice (rt/device.h) use the primary context and do not need these
 * functions.
 */
#ifndef ACL_RT_CONTEXT_H_
#define ACL_RT_CONTEXT_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Creates a context with a separate default stream and makes it current on this thread. NULL ->
 * 100000, bad device -> 107001.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/**
 * Destroys a context created by aclrtCreateContext and its streams. NULL -> 100000; the primary
 * context of a device (use aclrtResetDevice) or an unknown handle -> 107002; a context under
 * destruction -> 507007.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/** Makes a context current on this thread. NULL -> 100000, not a context -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/** Returns the current context of this thread, which may be a primary context. None -> 107002. */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext *context);

/**
 * Returns a handle of the default stream of the current context, for calls that do not accept NULL.
 * The stream cannot be destroyed or captured. No current context -> 107002.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream);

/**
 * Sets an option of the current context; aclrtSetSysParamOpt sets it for the whole process. No current
 * context -> 107002.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads an option of the current context. Never set -> 107021. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/**
 * Sets *active to 1 if the primary context of a device exists, else to 0. Does not create it. flags is
 * reserved.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags,
                                                     int32_t *active);

/** Returns the device address where the current context records arithmetic overflow. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_CONTEXT_H_ */
