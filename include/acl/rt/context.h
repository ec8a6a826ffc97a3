/**
 * @file rt/context.h
 * Contexts: owners of streams and events on one device, one of them current per thread. Programs
 * that just call aclrtSetDevice (rt/device.h) use the primary context and need none of this.
 */
#ifndef ACL_RT_CONTEXT_H_
#define ACL_RT_CONTEXT_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Creates a context with a default stream of its own and makes it current in this thread.
 * NULL -> 100000, bad device -> 107001.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/**
 * Destroys a context made by aclrtCreateContext, with its streams. NULL -> 100000; the primary
 * context of a device (use aclrtResetDevice) or something unknown -> 107002; one that is just being
 * destroyed -> 507007.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/** Makes a context current in this thread. NULL -> 100000, not a context -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/** The current context of this thread; the primary one counts too. None -> 107002. */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext *context);

/**
 * A real handle for the default stream of the current context, for the calls that do not take NULL.
 * It cannot be destroyed or captured. None current -> 107002.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream);

/**
 * Sets an option for the current context only; aclrtSetSysParamOpt does it for the whole process.
 * No current context -> 107002.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads an option of the current context. Never set -> 107021. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/**
 * Whether the primary context of a device exists: *active becomes 1 or 0. Creates nothing. flags is
 * reserved.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags,
                                                     int32_t *active);

/** Device address of the cell in which the current context notes arithmetic overflow. */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_CONTEXT_H_ */
