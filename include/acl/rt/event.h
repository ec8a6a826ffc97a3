/**
 * @file rt/event.h
 * Events: markers in a stream that other streams and the host can wait for and that can have a
 * timestamp. Notifies, which the host cannot wait for, are in rt/notify.h.
 *
 * Two kinds share one handle type. Classic events (aclrtCreateEvent, aclrtCreateEventWithFlag) stay
 * set until aclrtResetEvent. Ex events (aclrtCreateEventExWithFlag) can be recorded repeatedly without
 * a reset; prefer them in new programs. Differences are documented at each function.
 */
#ifndef ACL_RT_EVENT_H_
#define ACL_RT_EVENT_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits for aclrtCreateEventWithFlag and aclrtCreateEventExWithFlag; at least one is required. */
#define ACL_EVENT_SYNC 0x00000001U                    /**< streams can wait for it */
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U /**< the host can follow the progress of the stream */
#define ACL_EVENT_TIME_LINE 0x00000008U               /**< has a timestamp */
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U         /**< classic only, not combined with other bits */
#define ACL_EVENT_EXTERNAL 0x00000020U                /**< classic only, not combined; no host access */
#define ACL_EVENT_IPC 0x00000040U                     /**< Ex only, not combined; for other processes and devices */

/* Flags of aclrtRecordEventWithFlag and aclrtStreamWaitEventWithFlag. */
#define ACL_EVENT_RECORD_DEFAULT 0x0U
#define ACL_EVENT_RECORD_EXTERNAL 0x1U /**< during capture: a real record when the graph runs */
#define ACL_EVENT_WAIT_DEFAULT 0x0U
#define ACL_EVENT_WAIT_EXTERNAL 0x1U /**< during capture: a real wait when the graph runs */

#define ACL_IPC_EVENT_HANDLE_SIZE 64U /**< bytes in aclrtIpcEventHandle */

/** Result of the deprecated aclrtQueryEvent: 0 means complete. */
typedef enum aclrtEventStatus {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

/** Result of aclrtQueryEventStatus. Caution: 1 means complete, unlike in aclrtEventStatus. */
typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0, /**< the stream has not reached the record */
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1   /**< all tasks before the record have finished */
} aclrtEventRecordedStatus;

/** Result of aclrtQueryEventWaitStatus. */
typedef enum aclrtEventWaitStatus {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,     /**< no stream is waiting for the event */
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,    /**< a stream is still waiting */
    ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF /**< not a status */
} aclrtEventWaitStatus;

/** Event handle that can be sent to another process as bytes. */
typedef struct aclrtIpcEventHandle {
    char reserved[ACL_IPC_EVENT_HANDLE_SIZE];
} aclrtIpcEventHandle;

/* ----------------------------------------------------------------- lifetime */

/** Creates a classic event with a timestamp that streams can wait for. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent *event);

/**
 * Creates a classic event with ACL_EVENT_* bits. No known bit, an unknown bit, or a forbidden
 * combination -> 107000; no event left -> 207007.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Creates an Ex event: reusable without a reset. Flags as in aclrtCreateEventWithFlag, except that
 * DEVICE_USE_ONLY and EXTERNAL are not allowed and IPC is (207000 on chips without it).
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Destroys an event without waiting. Pending records and waits are not affected; their resources are
 * freed when they have finished. NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/* --------------------------------------------------------- record and wait */

/**
 * Queues a record of the event: it completes when all earlier tasks of the stream have finished. A new
 * record replaces the previous one. NULL stream = default stream. Stream of another context,
 * or of another device than the event -> 107003; only ACL_EVENT_IPC events work on all devices.
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/** aclrtRecordEvent with an ACL_EVENT_RECORD_* flag; other values -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream,
                                                      uint32_t flag);

/**
 * Queues a wait for the latest record of the event; the host does not wait. If the event was never
 * recorded: an Ex event does not block the stream, a classic event with ACL_EVENT_SYNC does, other
 * classic events -> 107000. Event without ACL_EVENT_SYNC (for example, TIME_LINE only) -> 207000. Stream
 * of another device -> 107003, as in aclrtRecordEvent. aclrtSetOpWaitTimeout limits the wait.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** aclrtStreamWaitEvent with an ACL_EVENT_WAIT_* flag; the timeout has no effect in softacl. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event,
                                                          uint32_t timeout, uint32_t flag);

/** aclrtStreamWaitEvent with a timeout, which has no effect in softacl; negative -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event,
                                                             int32_t timeout);

/** Queues a reset, so that a classic event with ACL_EVENT_SYNC can be used again. Ex event -> 207000. */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * Blocks the host until the latest record has completed. Never recorded: returns 0 immediately. Needs
 * no current context. External event -> 207000, captured event -> 107028.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * aclrtSynchronizeEvent with a timeout in milliseconds; -1 waits forever, 0 and other negative values
 * -> 107000. Timeout -> 507047.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/* ------------------------------------------------------------------ queries */

/**
 * Queries without waiting whether the latest record has completed. Never recorded: an Ex event is
 * complete, a classic event is not. External event -> 207000, captured event -> 107028.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event,
                                                   aclrtEventRecordedStatus *status);

/** Former variant of aclrtQueryEventStatus with inverted values; classic events only. */
ACL_DEPRECATED_MESSAGE("use aclrtQueryEventStatus; mind that there 1 means complete")
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/** Queries whether all waits for a classic event have completed. Ex event -> 207000. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event,
                                                       aclrtEventWaitStatus *status);

/**
 * Returns the time between two records in milliseconds, with fractions; negative if the end event
 * completed first. Wait for both events before. Not recorded -> 507000; no timestamp yet, or an event
 * without ACL_EVENT_TIME_LINE -> 107006; ACL_EVENT_IPC -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent,
                                                   aclrtEvent endEvent);

/** Returns the device time of the record in microseconds; errors as in aclrtEventElapsedTime. */
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/** Returns the id of the event on the device. ACL_EVENT_IPC -> 207000. */
ACL_FUNC_VISIBILITY aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/** Returns the number of events that can still be created on the current device. */
ACL_FUNC_VISIBILITY aclError aclrtGetEventAvailNum(uint32_t *eventCount);

/* ----------------------------------------------------------- other processes */

/**
 * Returns a 64-byte handle of an event created with ACL_EVENT_IPC, for another process. Other events
 * -> 107000; chip without the feature -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle);

/**
 * Opens an event of another process by its handle, which is passed by value. Destroy the result with
 * aclrtDestroyEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_EVENT_H_ */
