/**
 * @file rt/stream.h
 * Streams: queues whose tasks run in order. Synchronization between streams is in rt/event.h, host
 * functions in a stream in rt/callback.h, waiting for a value in memory in rt/value.h.
 *
 * Errors of a task: by default ("continue") the next wait for the stream reports the error and later
 * tasks still run. In "stop" mode the first error persists: every later submission and wait in that
 * context returns it. See aclrtSetStreamFailureMode.
 */
#ifndef ACL_RT_STREAM_H_
#define ACL_RT_STREAM_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits for aclrtCreateStreamWithConfig. Unknown bits are ignored. */
#define ACL_STREAM_FAST_LAUNCH 0x01U     /**< a hint; no effect in softacl */
#define ACL_STREAM_FAST_SYNC 0x02U       /**< a hint; no effect in softacl */
#define ACL_STREAM_PERSISTENT 0x04U      /**< not waited for */
#define ACL_STREAM_HUGE 0x08U            /**< no effect */
#define ACL_STREAM_CPU_SCHEDULE 0x10U    /**< not waited for */
#define ACL_STREAM_DEVICE_USE_ONLY 0x20U /**< not waited for */

/* Values of aclrtSetStreamFailureMode. */
#define ACL_CONTINUE_ON_FAILURE 0x0U /**< later tasks run; the default */
#define ACL_STOP_ON_FAILURE 0x1U     /**< no later task runs */

/** Result of aclrtStreamQuery. */
typedef enum aclrtStreamStatus {
    ACL_STREAM_STATUS_COMPLETE = 0,     /**< all tasks have finished */
    ACL_STREAM_STATUS_NOT_READY = 1,    /**< tasks are queued or running */
    ACL_STREAM_STATUS_RESERVED = 0xFFFF /**< not a status */
} aclrtStreamStatus;

/** Valid field of aclrtStreamAttrValue. */
typedef enum aclrtStreamAttr {
    ACL_STREAM_ATTR_FAILURE_MODE = 1,         /**< failureMode, as aclrtSetStreamFailureMode */
    ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2, /**< overflowSwitch */
    ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,      /**< userCustomTag */
    ACL_STREAM_ATTR_CACHE_OP_INFO = 4,        /**< cacheOpInfoSwitch */
    ACL_STREAM_ATTR_PRIORITY = 5              /**< streamPriority: 0 (highest) to 7 */
} aclrtStreamAttr;

/** Value of a stream attribute. Zero it before use. */
typedef union aclrtStreamAttrValue {
    uint64_t failureMode;
    uint32_t overflowSwitch;
    uint32_t userCustomTag;
    uint32_t cacheOpInfoSwitch;
    uint32_t streamPriority;
    uint32_t reserve[4];
} aclrtStreamAttrValue;

/** Field of aclrtStreamConfigHandle. */
typedef enum aclrtStreamConfigAttr {
    ACL_RT_STREAM_WORK_ADDR_PTR = 0,
    ACL_RT_STREAM_WORK_SIZE = 1,
    ACL_RT_STREAM_FLAG = 2,
    ACL_RT_STREAM_PRIORITY = 3
} aclrtStreamConfigAttr;

/** Settings for aclrtCreateStreamV2. */
typedef struct aclrtStreamConfigHandle {
    void *workptr;
    size_t workSize;
    size_t flag;       /**< ACL_STREAM_* bits */
    uint32_t priority; /**< 0 is highest */
} aclrtStreamConfigHandle;

/* ----------------------------------------------------------------- lifetime */

/**
 * Creates a stream in the current context. NULL -> 100000; no stream left -> 207008, or 207005 if graphs
 * or other processes hold some of them.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream *stream);

/**
 * Creates a stream with a priority from 0 (highest) to 7 and ACL_STREAM_* bits. Larger values are
 * clamped to 7, up to CANN 8.5 refused on a 310P -> 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
                                                         uint32_t flag);

/**
 * Waits until the stream is idle, then destroys it. NULL -> 100000: the default stream lives as long
 * as its context. Stream of another context -> 107003, capturing -> 107027.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/** Destroys the stream without waiting and drops tasks that have not started. Checks as in aclrtDestroyStream. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/* ------------------------------------------------------------------ waiting */

/**
 * Waits until the stream is idle and returns the error of a failed task, if any. The thread needs a
 * current context (107002), but the stream may belong to another context. Capturing -> 107027.
 * Persistent, CPU-scheduled and device-only streams are not waited for. A stream that is being aborted
 * -> 107023.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * aclrtSynchronizeStream with a timeout in milliseconds; -1 waits forever, 0 and other negative values
 * -> 107000. Timeout -> 507046; the tasks keep running.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/**
 * Queries without waiting whether the stream is idle. A busy stream is not an error: the call returns 0
 * and status ACL_STREAM_STATUS_NOT_READY. Capturing -> 107027.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/**
 * Drops the tasks of a stream that have not begun and waits for the others. Until it returns, calls that
 * submit to the stream or synchronize it get 107023. NULL is the default stream on A2 and A3 from CANN
 * 9.0, elsewhere -> 100000. Not on 310B, 310P, 910.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamAbort(aclrtStream stream);

/**
 * Ends the task that runs and keeps the tasks that have not begun. NULL -> 100000, the default stream of
 * a context -> 107000. Up to CANN 9.0, A2 and A3 stop only streams that were created with
 * ACL_STREAM_DEVICE_USE_ONLY (207000). Not on 310B, 310P, 910.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamStop(aclrtStream stream);

/* --------------------------------------------------------------- attributes */

/**
 * Sets the behavior after a failed task: ACL_CONTINUE_ON_FAILURE or ACL_STOP_ON_FAILURE. Affects the
 * whole context of the stream. Changing stop back to continue -> 207000; setting the current mode
 * again succeeds. NULL means the default stream on 950, A3 and A2.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/** Sets one attribute. value NULL -> 100000, unknown attribute or bad value -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamAttribute(aclrtStream stream,
                                                     aclrtStreamAttr stmAttrType,
                                                     aclrtStreamAttrValue *value);

/** Reads one attribute. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAttribute(aclrtStream stream,
                                                     aclrtStreamAttr stmAttrType,
                                                     aclrtStreamAttrValue *value);

/** Returns the id of the stream in logs and traces; unique among live streams. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);

/** Returns the effective priority of the stream. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);

/** Returns the ACL_STREAM_* bits of the stream. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/** Returns the range of priorities: *leastPriority is the larger value, *greatestPriority the smaller. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority,
                                                               int32_t *greatestPriority);

/** Returns the number of streams that can still be created on the current device. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);

/** Creates stream settings with default values; small embedded chips only. */
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);

/** Destroys stream settings; small embedded chips only. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle);

/** Changes one field of stream settings; small embedded chips only. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle,
                                                     aclrtStreamConfigAttr attr,
                                                     const void *attrValue, size_t valueSize);

/** Creates a stream from settings; small embedded chips only. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(aclrtStream *stream,
                                                 const aclrtStreamConfigHandle *handle);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_STREAM_H_ */
