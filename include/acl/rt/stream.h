/**
 * @file rt/stream.h
 * Streams: queues whose tasks run one after the other. Waiting between streams is in rt/event.h,
 * host functions in a stream in rt/callback.h, waiting for a value in memory in rt/value.h.
 *
 * Errors of a task: by default ("continue") the next wait for the stream reports it and later tasks
 * run nevertheless. In "stop" mode the first error stays: every further submission and wait in that
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
#define ACL_STREAM_HUGE 0x08U            /**< not on every chip */
#define ACL_STREAM_CPU_SCHEDULE 0x10U    /**< not waited for */
#define ACL_STREAM_DEVICE_USE_ONLY 0x20U /**< not waited for */

/* Values of aclrtSetStreamFailureMode. */
#define ACL_CONTINUE_ON_FAILURE 0x0U /**< later tasks run; the default */
#define ACL_STOP_ON_FAILURE 0x1U     /**< nothing runs any more */

/** Answer of aclrtStreamQuery. */
typedef enum aclrtStreamStatus {
    ACL_STREAM_STATUS_COMPLETE = 0,     /**< nothing left to do */
    ACL_STREAM_STATUS_NOT_READY = 1,    /**< still working */
    ACL_STREAM_STATUS_RESERVED = 0xFFFF /**< not a status */
} aclrtStreamStatus;

/** Which field of aclrtStreamAttrValue counts. */
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

/** Creates a stream in the current context. NULL -> 100000, none left -> 207008. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream *stream);

/**
 * Creates a stream with a priority from 0 (highest) to 7 and ACL_STREAM_* bits. Larger priorities
 * count as 7. ACL_STREAM_HUGE on a chip without it -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
                                                         uint32_t flag);

/**
 * Waits until the stream is empty, then destroys it. NULL -> 100000: the default stream lives as
 * long as its context. Stream of another context -> 107003, capturing -> 107027.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/** Destroys the stream at once; tasks that have not started are dropped. Checks as above. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/* ------------------------------------------------------------------ waiting */

/**
 * Waits until the stream is empty and returns the error of a failed task, if there was one. The
 * thread needs a current context (107002), but the stream may belong to another one. Capturing ->
 * 107027. Persistent, CPU-scheduled and device-only streams are not waited for.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * The same with a limit in milliseconds; -1 waits for ever, 0 and other negative values -> 107000.
 * Time over -> 507046; the stream goes on.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/**
 * Looks whether the stream is empty, without waiting. "Still working" is not an error: 0 with
 * status ACL_STREAM_STATUS_NOT_READY. Capturing -> 107027.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/** Drops the tasks of a stream. Submissions while it does so -> 107023. Not on 310B, 310P, 910. */
ACL_FUNC_VISIBILITY aclError aclrtStreamAbort(aclrtStream stream);

/** Drops the tasks of a stream that have not started. Not on 310B, 310P, 910. */
ACL_FUNC_VISIBILITY aclError aclrtStreamStop(aclrtStream stream);

/* --------------------------------------------------------------- attributes */

/**
 * Chooses what happens after a failed task: ACL_CONTINUE_ON_FAILURE or ACL_STOP_ON_FAILURE. Affects
 * the whole context of the stream. There is no way back from stop to continue (207000); setting the
 * same mode again is fine. NULL stands for the default stream on 950, A3 and A2.
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

/** A small number that names the stream in logs and traces; unique among live streams. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);

/** The priority that the stream really has. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);

/** The ACL_STREAM_* bits of the stream. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/** Range of priorities: *leastPriority is the large number, *greatestPriority the small one. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority,
                                                               int32_t *greatestPriority);

/** How many more streams the current device can have. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);

/** Makes stream settings with default values; small embedded chips only. */
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
