/**
 * @file rt/callback.h
 * Host functions as tasks of a stream, and hooks for state changes of streams and devices. Callbacks
 * after a failed task are in rt/error.h.
 *
 * Two ways to run host code in a stream; a stream uses only one of them:
 *   aclrtLaunchHostFunc    a runtime thread calls the function; no setup is needed.
 *   aclrtLaunchCallback    a user thread calls it: subscribe the thread to the stream and let it loop
 *                          in aclrtProcessReport.
 * In such a function, do not call anything that waits for its stream.
 */
#ifndef ACL_RT_CALLBACK_H_
#define ACL_RT_CALLBACK_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Function for aclrtLaunchHostFunc. */
typedef void (*aclrtHostFunc)(void *args);

/** Determines whether the stream continues while an aclrtLaunchCallback function runs. */
typedef enum aclrtCallbackBlockType {
    ACL_CALLBACK_NO_BLOCK = 0, /**< the stream continues immediately */
    ACL_CALLBACK_BLOCK = 1     /**< the next task starts after the function has returned */
} aclrtCallbackBlockType;

/** State change of a stream. */
typedef enum aclrtStreamState {
    ACL_RT_STREAM_STATE_CREATE_POST = 1, /**< has been created */
    ACL_RT_STREAM_STATE_DESTROY_PRE = 2  /**< is about to be destroyed */
} aclrtStreamState;

/** State change of a device. */
typedef enum aclrtDeviceState {
    ACL_RT_DEVICE_STATE_SET_PRE = 0,   /**< about to be set up */
    ACL_RT_DEVICE_STATE_SET_POST = 1,  /**< has been set up */
    ACL_RT_DEVICE_STATE_RESET_PRE = 2, /**< about to be torn down */
    ACL_RT_DEVICE_STATE_RESET_POST = 3 /**< has been torn down */
} aclrtDeviceState;

/** Phase of aclrtDeviceTaskAbort. */
typedef enum aclrtDeviceTaskAbortStage {
    ACL_RT_DEVICE_TASK_ABORT_PRE = 0, /**< before tasks are dropped */
    ACL_RT_DEVICE_TASK_ABORT_POST = 1 /**< after tasks were dropped */
} aclrtDeviceTaskAbortStage;

/** Hook for streams. */
typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void *args);

/** Hook for devices. */
typedef void (*aclrtDeviceStateCallback)(int32_t deviceId, aclrtDeviceState state, void *args);

/** Hook for aclrtDeviceTaskAbort. */
typedef int32_t (*aclrtDeviceTaskAbortCallback)(int32_t deviceId, aclrtDeviceTaskAbortStage stage,
                                                uint32_t timeout, void *args);

/* ----------------------------------------------------------- host functions */

/**
 * Queues fn(args). A runtime thread calls it when the stream reaches the task, and the stream
 * continues after it has returned. A stream with a subscribed thread -> 107011.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/**
 * Subscribes a thread, given by its pthread_self, to the callbacks of a stream. One thread may serve
 * several streams of one device, not of two (107000); at most 1024 threads can be subscribed. Stream
 * already subscribed, or used with aclrtLaunchHostFunc -> 107011.
 */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/** Ends a subscription. Thread not subscribed -> 107012. */
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * Queues fn(userData), which the subscribed thread of the stream calls. Unknown blockType -> 100000,
 * fn NULL -> 107000, no subscribed thread -> 107015.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void *userData,
                                                 aclrtCallbackBlockType blockType,
                                                 aclrtStream stream);

/**
 * Waits for callbacks of the calling thread's streams and runs them; call it in a loop. timeout is in
 * milliseconds; -1 waits forever, 0 and other negative values -> 100000. Thread not subscribed ->
 * 107012, timeout -> 507012.
 */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

/** aclrtSubscribeReport for host functions; small embedded chips only. */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId,
                                                    aclrtStream exeStream);

/** aclrtProcessReport for host functions; small embedded chips only. */
ACL_FUNC_VISIBILITY aclError aclrtProcessHostFunc(int32_t timeout);

/** aclrtUnSubscribeReport for host functions; small embedded chips only. */
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId,
                                                      aclrtStream exeStream);

/* -------------------------------------------------------------------- hooks */

/**
 * Registers a callback for creation and destruction of streams under a name; callback NULL removes
 * it. The thread that creates or destroys the stream calls it. Name in use, or not registered ->
 * softacl: 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtRegStreamStateCallback(const char *regName,
                                                         aclrtStreamStateCallback callback,
                                                         void *args);

/**
 * Registers a callback for set and reset of devices under a name; callback NULL removes it. It is
 * called when the default context is created or ends, not when only the count of references changes.
 */
ACL_FUNC_VISIBILITY aclError aclrtRegDeviceStateCallback(const char *regName,
                                                         aclrtDeviceStateCallback callback,
                                                         void *args);

/**
 * Registers a callback for aclrtDeviceTaskAbort under a name; callback NULL removes it. A result
 * other than 0 fails the abort; softacl: 507000.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceTaskAbortCallback(const char *regName,
                                                             aclrtDeviceTaskAbortCallback callback,
                                                             void *args);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_CALLBACK_H_ */
