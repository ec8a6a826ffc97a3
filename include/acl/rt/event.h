/**
 * @file rt/event.h
 * Events: marks in a stream that other streams and the host can wait for, and that can carry a
 * time. Signals without host side are in rt/notify.h.
 *
 * Two families share one handle type. Classic events (aclrtCreateEvent, aclrtCreateEventWithFlag)
 * stay set until aclrtResetEvent. Ex events (aclrtCreateEventExWithFlag) can be recorded again and
 * again without reset; prefer them for new programs. Where they differ, it is said below.
 */
#ifndef ACL_RT_EVENT_H_
#define ACL_RT_EVENT_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits for aclrtCreateEventWithFlag and aclrtCreateEventExWithFlag; at least one is needed. */
#define ACL_EVENT_SYNC 0x00000001U                    /**< streams can wait for it */
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U /**< host can follow the stream's progress */
#define ACL_EVENT_TIME_LINE 0x00000008U               /**< carries a timestamp */
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U         /**< classic only, alone */
#define ACL_EVENT_EXTERNAL 0x00000020U                /**< classic only, alone; no host access */
#define ACL_EVENT_IPC 0x00000040U                     /**< Ex only, alone; for other processes */

/* Flags of aclrtRecordEventWithFlag and aclrtStreamWaitEventWithFlag. */
#define ACL_EVENT_RECORD_DEFAULT 0x0U
#define ACL_EVENT_RECORD_EXTERNAL 0x1U /**< during capture: a real record when the graph runs */
#define ACL_EVENT_WAIT_DEFAULT 0x0U
#define ACL_EVENT_WAIT_EXTERNAL 0x1U /**< during capture: a real wait when the graph runs */

#define ACL_IPC_EVENT_HANDLE_SIZE 64U /**< bytes in aclrtIpcEventHandle */

/** Answer of the old aclrtQueryEvent: 0 means complete. */
typedef enum aclrtEventStatus {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

/** Answer of aclrtQueryEventStatus. Careful: 1 means complete, the opposite of the old one. */
typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0, /**< the stream has not come to the record yet */
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1   /**< everything before the record is done */
} aclrtEventRecordedStatus;

/** Answer of aclrtQueryEventWaitStatus. */
typedef enum aclrtEventWaitStatus {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,     /**< no stream waits for the event any more */
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,    /**< some stream still waits */
    ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF /**< not a status */
} aclrtEventWaitStatus;

/** Event in a form that can be sent to another process as plain bytes. */
typedef struct aclrtIpcEventHandle {
    char reserved[ACL_IPC_EVENT_HANDLE_SIZE];
} aclrtIpcEventHandle;

/* ----------------------------------------------------------------- lifetime */

/** Creates a classic event with timestamp, fit for waiting. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent *event);

/**
 * Creates a classic event with ACL_EVENT_* bits. No known bit, an unknown bit, or a bit that must
 * stand alone in company -> 107000; none left -> 207007.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Creates an Ex event: reusable, no reset needed. Flags as above; DEVICE_USE_ONLY and EXTERNAL are
 * not for Ex events, IPC is only for them (207000 on chips without it).
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Destroys an event; never waits. A pending record or wait is not disturbed: what it needs is freed
 * when it is done. NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/* --------------------------------------------------------- record and wait */

/**
 * Queues the event in a stream: it completes when everything before it is done. A new record
 * replaces the previous one. NULL stream = default stream. Event or stream of another context ->
 * 107003.
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/** aclrtRecordEvent with an ACL_EVENT_RECORD_* flag; other values -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream,
                                                      uint32_t flag);

/**
 * Makes the stream wait for the latest record of the event; the host does not wait. Never recorded:
 * an Ex event lets the stream pass, a classic one with ACL_EVENT_SYNC makes it wait, other classic
 * ones -> 107000. Event without ACL_EVENT_SYNC (say, TIME_LINE only) -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** aclrtStreamWaitEvent with an ACL_EVENT_WAIT_* flag; the limit has no effect in softacl. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event,
                                                          uint32_t timeout, uint32_t flag);

/** aclrtStreamWaitEvent with a limit, which has no effect in softacl; negative -> 107000. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event,
                                                             int32_t timeout);

/** Queues a reset, so that a classic event with ACL_EVENT_SYNC can be used anew. Ex -> 207000. */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * Lets the host wait for the latest record. Never recorded: returns 0 at once. Needs no current
 * context. External event -> 207000, captured event -> 107028.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * The same with a limit in milliseconds; -1 waits for ever, 0 and other negative values -> 107000.
 * Time over -> 507047.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/* ------------------------------------------------------------------ queries */

/**
 * Looks whether the latest record is done, without waiting. Never recorded: an Ex event is
 * complete, a classic one is not. External event -> 207000, captured event -> 107028.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event,
                                                   aclrtEventRecordedStatus *status);

/** Old form of aclrtQueryEventStatus with the opposite numbers; classic events only. */
ACL_DEPRECATED_MESSAGE("use aclrtQueryEventStatus; mind that there 1 means complete")
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/** Whether all streams that wait for a classic event have passed it. Ex event -> 207000. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event,
                                                       aclrtEventWaitStatus *status);

/**
 * Milliseconds between two records, with fractions; negative if the end came first. Wait for both
 * events before. Not recorded -> 507000; no timestamp yet, or an event without
 * ACL_EVENT_TIME_LINE -> 107006.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent,
                                                   aclrtEvent endEvent);

/** Time of the record in microseconds of device time; errors as in aclrtEventElapsedTime. */
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/** The number of the event on the device. */
ACL_FUNC_VISIBILITY aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/** How many more events the current device can have. */
ACL_FUNC_VISIBILITY aclError aclrtGetEventAvailNum(uint32_t *eventCount);

/* ----------------------------------------------------------- other processes */

/**
 * Turns an event created with ACL_EVENT_IPC into 64 bytes for another process. Events of another
 * kind -> 107000; chip without it -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle);

/**
 * Opens such an event in another process. The handle is passed by value. Destroy the result with
 * aclrtDestroyEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_EVENT_H_ */
