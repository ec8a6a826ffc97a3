/**
 * @file acl_tdt_queue.h
 * Queues of shared buffers, and routes between queues. Channels for tensors are in acl_tdt.h, shared
 * buffers without queues in rt/mbuf.h.
 *
 * Timeouts are in milliseconds: -1 waits without limit, 0 does not wait.
 */
#ifndef ACL_ACL_TDT_QUEUE_H_
#define ACL_ACL_TDT_QUEUE_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A shared buffer. Assumed to be a pointer like aclrtMbuf, because it is passed by value. */
typedef void *acltdtBuf;

/* These four are opaque: programs use only pointers to them. */
typedef struct acltdtQueueAttr acltdtQueueAttr;                     /**< settings of a queue */
typedef struct acltdtQueueRoute acltdtQueueRoute;                   /**< from one queue to another */
typedef struct acltdtQueueRouteList acltdtQueueRouteList;           /**< list of routes */
typedef struct acltdtQueueRouteQueryInfo acltdtQueueRouteQueryInfo; /**< routes to look for */

/* This header does not define the values of these three; int has the size of the enums. */
typedef int acltdtQueueAttrType;                /**< field of acltdtQueueAttr */
typedef int acltdtQueueRouteParamType;          /**< field of acltdtQueueRoute */
typedef int acltdtQueueRouteQueryInfoParamType; /**< field of acltdtQueueRouteQueryInfo */

/* -------------------------------------------------------------------- queues */

/** Creates a queue. */
ACL_FUNC_VISIBILITY aclError acltdtCreateQueue(const acltdtQueueAttr *attr, uint32_t *qid);

/** Destroys a queue with its contents. A queue that is part of a route is refused. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyQueue(uint32_t qid);

/** Adds a buffer to a queue. */
ACL_FUNC_VISIBILITY aclError acltdtEnqueue(uint32_t qid, acltdtBuf buf, int32_t timeout);

/** Removes a buffer from a queue. */
ACL_FUNC_VISIBILITY aclError acltdtDequeue(uint32_t qid, acltdtBuf *buf, int32_t timeout);

/**
 * Adds a copy of raw data and of at most 96 bytes of user data to a queue. Waits while the queue is full.
 * @retval ACL_ERROR_RT_QUEUE_FULL the queue was still full when the timeout ended
 */
ACL_FUNC_VISIBILITY aclError acltdtEnqueueData(uint32_t qid, const void *data, size_t dataSize,
                                               const void *userData, size_t userDataSize,
                                               int32_t timeout, uint32_t rsv);

/**
 * Removes raw data from a queue. Waits while the queue is empty. Data that does not fit stays in the
 * queue; retDataSize is its size.
 * @retval ACL_ERROR_RT_QUEUE_EMPTY the queue was still empty when the timeout ended
 */
ACL_FUNC_VISIBILITY aclError acltdtDequeueData(uint32_t qid, void *data, size_t dataSize,
                                               size_t *retDataSize, void *userData,
                                               size_t userDataSize, int32_t timeout);

/** Grants another process access to a queue. */
ACL_FUNC_VISIBILITY aclError acltdtGrantQueue(uint32_t qid, int32_t pid, uint32_t permission,
                                              int32_t timeout);

/** Attaches to a queue of another process and returns the granted access. */
ACL_FUNC_VISIBILITY aclError acltdtAttachQueue(uint32_t qid, int32_t timeout, uint32_t *permission);

/** Creates queue settings with default values; NULL on failure. */
ACL_FUNC_VISIBILITY acltdtQueueAttr *acltdtCreateQueueAttr(void);

/** Destroys queue settings. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyQueueAttr(const acltdtQueueAttr *attr);

/** Changes one field of queue settings. On softacl len decides: 4 bytes are the depth, a pointer is the name. */
ACL_FUNC_VISIBILITY aclError acltdtSetQueueAttr(acltdtQueueAttr *attr, acltdtQueueAttrType type,
                                                size_t len, const void *param);

/** Reads one field of queue settings. */
ACL_FUNC_VISIBILITY aclError acltdtGetQueueAttr(const acltdtQueueAttr *attr,
                                                acltdtQueueAttrType type, size_t len,
                                                size_t *paramRetSize, void *param);

/* -------------------------------------------------------------------- routes */

/** Activates routes: what enters the source queue moves to the target queue. Routes must not form a circle. */
ACL_FUNC_VISIBILITY aclError acltdtBindQueueRoutes(acltdtQueueRouteList *qRouteList);

/** Deactivates routes. */
ACL_FUNC_VISIBILITY aclError acltdtUnbindQueueRoutes(acltdtQueueRouteList *qRouteList);

/** Lists the active routes that match. */
ACL_FUNC_VISIBILITY aclError acltdtQueryQueueRoutes(const acltdtQueueRouteQueryInfo *queryInfo,
                                                    acltdtQueueRouteList *qRouteList);

/** Creates a route; NULL on failure. */
ACL_FUNC_VISIBILITY acltdtQueueRoute *acltdtCreateQueueRoute(uint32_t srcId, uint32_t dstId);

/** Destroys a route object. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyQueueRoute(const acltdtQueueRoute *route);

/** Reads one field of a route. */
ACL_FUNC_VISIBILITY aclError acltdtGetQueueRouteParam(const acltdtQueueRoute *route,
                                                      acltdtQueueRouteParamType type, size_t len,
                                                      size_t *paramRetSize, void *param);

/** Creates an empty list of routes; NULL on failure. */
ACL_FUNC_VISIBILITY acltdtQueueRouteList *acltdtCreateQueueRouteList(void);

/** Destroys a list of routes. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyQueueRouteList(const acltdtQueueRouteList *routeList);

/** Adds a route to a list. */
ACL_FUNC_VISIBILITY aclError acltdtAddQueueRoute(acltdtQueueRouteList *routeList,
                                                 const acltdtQueueRoute *route);

/** Copies one route from a list. */
ACL_FUNC_VISIBILITY aclError acltdtGetQueueRoute(const acltdtQueueRouteList *routeList,
                                                 size_t index, acltdtQueueRoute *route);

/** Returns the number of routes in a list. */
ACL_FUNC_VISIBILITY size_t acltdtGetQueueRouteNum(const acltdtQueueRouteList *routeList);

/** Creates an empty query; NULL on failure. */
ACL_FUNC_VISIBILITY acltdtQueueRouteQueryInfo *acltdtCreateQueueRouteQueryInfo(void);

/** Destroys a query. */
ACL_FUNC_VISIBILITY aclError
acltdtDestroyQueueRouteQueryInfo(const acltdtQueueRouteQueryInfo *info);

/** Changes one field of a query. */
ACL_FUNC_VISIBILITY aclError acltdtSetQueueRouteQueryInfo(acltdtQueueRouteQueryInfo *param,
                                                          acltdtQueueRouteQueryInfoParamType type,
                                                          size_t len, const void *value);

/* ------------------------------------------------------------------- buffers */

/** Allocates a buffer with a capacity of size bytes. */
ACL_FUNC_VISIBILITY aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf *buf);

/** Releases a reference; releasing the last one frees the buffer. */
ACL_FUNC_VISIBILITY aclError acltdtFreeBuf(acltdtBuf buf);

/** Reads the address and the capacity of the data. */
ACL_FUNC_VISIBILITY aclError acltdtGetBufData(const acltdtBuf buf, void **dataPtr, size_t *size);

/** Sets the number of bytes in use. */
ACL_FUNC_VISIBILITY aclError acltdtSetBufDataLen(acltdtBuf buf, size_t len);

/** Reads the number of bytes in use. */
ACL_FUNC_VISIBILITY aclError acltdtGetBufDataLen(acltdtBuf buf, size_t *len);

/** Appends a buffer to a chain, which owns it from then on. */
ACL_FUNC_VISIBILITY aclError acltdtAppendBufChain(acltdtBuf headBuf, acltdtBuf buf);

/** Reads the number of buffers in a chain. */
ACL_FUNC_VISIBILITY aclError acltdtGetBufChainNum(acltdtBuf headBuf, uint32_t *num);

/** Reads one buffer of a chain. Index 0 is the head. */
ACL_FUNC_VISIBILITY aclError acltdtGetBufFromChain(acltdtBuf headBuf, uint32_t index,
                                                   acltdtBuf *buf);

/** Reads from the user area of a buffer, which has 96 bytes. */
ACL_FUNC_VISIBILITY aclError acltdtGetBufUserData(const acltdtBuf buf, void *dataPtr, size_t size,
                                                  size_t offset);

/** Writes to the user area of a buffer, which has 96 bytes. */
ACL_FUNC_VISIBILITY aclError acltdtSetBufUserData(acltdtBuf buf, const void *dataPtr, size_t size,
                                                  size_t offset);

/** Creates another reference to the data of a buffer. */
ACL_FUNC_VISIBILITY aclError acltdtCopyBufRef(const acltdtBuf buf, acltdtBuf *newBuf);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_TDT_QUEUE_H_ */
