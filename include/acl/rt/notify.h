/**
 * @file rt/notify.h
 * Notifies: one-shot signals between streams, including streams of other processes, and counting
 * notifies. The host cannot wait for a notify; use events for that (rt/event.h).
 */
#ifndef ACL_RT_NOTIFY_H_
#define ACL_RT_NOTIFY_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of aclrtCreateNotify. */
#define ACL_NOTIFY_DEFAULT 0x0U
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x1U

/* Flags of aclrtNotifyGetExportKey. */
#define ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x2UL

/* Flags of aclrtNotifyImportByKey. */
#define ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x2UL

/** Operation of aclrtCntNotifyRecord on the counter. */
typedef enum aclrtCntNotifyRecordMode {
    ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE = 0, /**< counter = value */
    ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE = 1,       /**< counter += value */
    ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE = 2,    /**< counter |= value */
    ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE = 4    /**< counter &= value */
} aclrtCntNotifyRecordMode;

/** Condition that resolves aclrtCntNotifyWaitWithTimeout; the last value is a choice of softacl. */
typedef enum aclrtCntNotifyWaitMode {
    ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE = 0,              /**< counter < value */
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE = 1,             /**< counter == value */
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE = 2,            /**< counter > value */
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE = 3,   /**< counter >= value */
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE = 4 /**< (counter & value) == value */
} aclrtCntNotifyWaitMode;

/** Argument of aclrtCntNotifyRecord. */
typedef struct aclrtCntNotifyRecordInfo {
    aclrtCntNotifyRecordMode mode;
    uint32_t value;
} aclrtCntNotifyRecordInfo;

/** Argument of aclrtCntNotifyWaitWithTimeout, as softacl interprets it. */
typedef struct aclrtCntNotifyWaitInfo {
    aclrtCntNotifyWaitMode mode;
    uint32_t value;
    uint32_t timeout; /**< seconds, 0 = forever */
    uint8_t isClear;  /**< 1: set the counter to 0 when the stream passes */
    uint8_t rsv[3];
} aclrtCntNotifyWaitInfo;

/** Creates a notify; flag is an ACL_NOTIFY_* value. No notify left on the device -> 207009. */
ACL_FUNC_VISIBILITY aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag);

/** Destroys a notify. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyNotify(aclrtNotify notify);

/** Queues a record of the notify. */
ACL_FUNC_VISIBILITY aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/**
 * Queues a wait for the notify, which also clears it; timeout in seconds, 0 = forever. After a timeout the
 * next synchronize returns 107020. A notify of another process -> 107000: only its creator may wait.
 */
ACL_FUNC_VISIBILITY aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream,
                                                     uint32_t timeout);

/** Returns the id of the notify. */
ACL_FUNC_VISIBILITY aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId);

/** Clears several notifies. */
ACL_FUNC_VISIBILITY aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num);

/** Creates a key (65 bytes) with which another process can open the notify. */
ACL_FUNC_VISIBILITY aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len,
                                                     uint64_t flags);

/** Opens a notify of another process by its key. */
ACL_FUNC_VISIBILITY aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key,
                                                    uint64_t flags);

/** Allows processes to open the notify. */
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num);

/** Allows processes on other servers of the pod to open the notify. */
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify,
                                                                aclrtServerPid *serverPids,
                                                                size_t num);

/** Creates a counting notify (950 only). */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flag);

/** Destroys a counting notify. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify);

/** Queues a change of the counter. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream,
                                                  aclrtCntNotifyRecordInfo *info);

/** Queues a wait for a value of the counter. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify,
                                                           aclrtStream stream,
                                                           aclrtCntNotifyWaitInfo *info);

/** Queues a reset of the counter. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream);

/** Returns the id of the counting notify. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_NOTIFY_H_ */
