/**
 * @file rt/graph.h
 * Graphs (aclmdlRI): record the tasks of streams once, run them many times. Loading model files is not
 * supported.
 *
 *     aclmdlRI graph;
 *     aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL);
 *     ... asynchronous calls on stream: recorded, not run ...
 *     aclmdlRICaptureEnd(stream, &graph);
 *     for (i = 0; i < n; i++) aclmdlRIExecuteAsync(graph, stream);
 *     aclrtSynchronizeStream(stream);
 *     aclmdlRIDestroy(graph);
 *
 * While a stream is capturing
 *   - Copies between pinned and device memory are recorded; with pageable memory -> 107000.
 *   - Waiting for the stream, querying or destroying it -> 107027; waiting on the host for an event
 *     recorded on it -> 107028.
 *   - Another stream joins the capture by waiting for an event of the capturing stream. It must be
 *     joined back by an event before the capture ends (else 107025).
 *   - Blocking copies and memsets are forbidden (107030), and so are asynchronous copies that would
 *     block (107041): on all threads in global mode, on the capturing thread in thread-local mode,
 *     on no thread in relaxed mode. Allocating and freeing is allowed.
 *   - The default stream of the context takes no tasks (107031).
 *   - A failed call can invalidate the capture; aclmdlRICaptureEnd then returns 507903.
 */
#ifndef ACL_RT_GRAPH_H_
#define ACL_RT_GRAPH_H_

#include "acl/rt/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of aclmdlRIDebugJsonPrint. */
#define ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY 0U
#define ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE 1U

/** Threads on which a capture forbids blocking calls, see the top of this file. */
typedef enum aclmdlRICaptureMode {
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,       /**< forbidden on all threads */
    ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1, /**< forbidden on the capturing thread */
    ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2       /**< allowed */
} aclmdlRICaptureMode;

/** Capture state of a stream. */
typedef enum aclmdlRICaptureStatus {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,       /**< not capturing */
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,     /**< capturing */
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2 /**< capturing, but invalidated */
} aclmdlRICaptureStatus;

/** Kind of task in a graph. */
typedef enum aclmdlRITaskType {
    ACL_MODEL_RI_TASK_DEFAULT = 0,
    ACL_MODEL_RI_TASK_KERNEL = 1,
    ACL_MODEL_RI_TASK_EVENT_RECORD = 2,
    ACL_MODEL_RI_TASK_EVENT_WAIT = 3,
    ACL_MODEL_RI_TASK_EVENT_RESET = 4,
    ACL_MODEL_RI_TASK_VALUE_WRITE = 5,
    ACL_MODEL_RI_TASK_VALUE_WAIT = 6
} aclmdlRITaskType;

/** Parameters of a kernel task. */
typedef struct aclmdlRIKernelTaskParams {
    aclrtFuncHandle funcHandle;
    aclrtLaunchKernelCfg *cfg;
    void *args;
    uint32_t isHostArgs;
    size_t argsSize;
    uint32_t numBlocks;
    uint32_t rsv[10];
} aclmdlRIKernelTaskParams;

/** Parameters of an event-record task. */
typedef struct aclmdlRIEventRecordTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t recordFlag;
} aclmdlRIEventRecordTaskParams;

/** Parameters of an event-wait task. */
typedef struct aclmdlRIEventWaitTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t waitFlag;
} aclmdlRIEventWaitTaskParams;

/** Parameters of an event-reset task. */
typedef struct aclmdlRIEventResetTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t resetFlag;
} aclmdlRIEventResetTaskParams;

/** Parameters of a value-write task. */
typedef struct aclmdlRIValueWriteTaskParams {
    void *devAddr;
    uint64_t value;
} aclmdlRIValueWriteTaskParams;

/** Parameters of a value-wait task. */
typedef struct aclmdlRIValueWaitTaskParams {
    void *devAddr;
    uint64_t value;
    uint32_t flag;
} aclmdlRIValueWaitTaskParams;

/**
 * Parameters of any task; `type` determines the valid field of the union. The size and the fields up
 * to rsv1 are fixed; the unnamed union in the last 128 bytes and the names of its fields are a choice
 * of this header.
 */
typedef struct aclmdlRITaskParams {
    aclmdlRITaskType type;
    uint32_t rsv0[3];
    aclrtTaskGrp taskGrp;
    void *opInfoPtr;
    size_t opInfoSize;
    uint8_t rsv1[32];
    __extension__ union {
        uint8_t bytes[128];
        aclmdlRIKernelTaskParams kernel;
        aclmdlRIEventRecordTaskParams eventRecord;
        aclmdlRIEventWaitTaskParams eventWait;
        aclmdlRIEventResetTaskParams eventReset;
        aclmdlRIValueWriteTaskParams valueWrite;
        aclmdlRIValueWaitTaskParams valueWait;
    };
} aclmdlRITaskParams;

/** Condition value of a conditional task; opaque. */
typedef void *aclmdlRICondHandle;

/** Flag of aclmdlRICondHandleCreate. */
typedef enum aclmdlRICondHandleFlag {
    ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT = 1 /**< every run starts with the default value */
} aclmdlRICondHandleFlag;

/** Kind of conditional task. The semantics are a choice of softacl. */
typedef enum aclmdlRICondTaskType {
    ACL_MODEL_RI_COND_TYPE_IF = 0,    /**< run if not 0; a second graph is the else branch */
    ACL_MODEL_RI_COND_TYPE_WHILE = 1, /**< run while not 0 */
    ACL_MODEL_RI_COND_TYPE_SWITCH = 2 /**< run the graph with that index */
} aclmdlRICondTaskType;

/** A conditional task; passed by value. */
typedef struct aclmdlRICondTaskParams {
    aclmdlRICondHandle handle;
    aclmdlRICondTaskType type;
    uint32_t size;          /**< number of sub-graphs */
    aclmdlRI *modelRIArray; /**< the sub-graphs; softacl creates them and writes their handles here */
} aclmdlRICondTaskParams;

/* ------------------------------------------------------------------- capture */

/**
 * Starts capturing a stream: later tasks are recorded. The default stream cannot be captured (107031),
 * nor a stream that is already capturing (107027). Chip without the feature (310B, 910) -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);

/**
 * Ends the capture and returns the graph. Not capturing -> 107029; not the stream that began the
 * capture -> 107036; another thread, unless the capture was begun RELAXED -> 107038; side stream not
 * joined back -> 107025; invalidated -> 507903.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI);

/** Returns the capture state of a stream and the graph under capture. Allowed during a capture. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureGetInfo(aclrtStream stream,
                                                    aclmdlRICaptureStatus *status,
                                                    aclmdlRI *modelRI);

/**
 * Exchanges the capture mode of the calling thread with *mode. Call it with RELAXED to allow blocking
 * calls temporarily, and again with the returned mode to restore it.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode);

/** Starts capturing into an existing graph: a sub-graph of a conditional task. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI,
                                                           aclmdlRICaptureMode mode);

/** Starts a group of captured tasks that can be updated later. Already in a group -> 107033. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);

/** Ends the group and returns its handle. Not in a group -> 107033. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle);

/** Starts an update of the tasks of a group: submit them again to `stream` with new parameters. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream,
                                                            aclrtTaskGrp handle);

/** Ends an update. Tasks that do not match the group in kind or number -> an error. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

/* ----------------------------------------------------------------------- run */

/** Queues a graph as one task of a stream. The graph must stay valid until the run has finished. */
ACL_FUNC_VISIBILITY aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);

/** Runs a graph and waits for it; timeout in milliseconds, -1 waits forever. */
ACL_FUNC_VISIBILITY aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout);

/** Destroys a graph. Still running -> 107037. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroy(aclmdlRI modelRI);

/** Stops a running graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIAbort(aclmdlRI modelRI);

/** Returns the id of a graph, for logs and traces. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId);

/** Prints a graph in readable form; softacl prints to stderr. */
ACL_DEPRECATED_MESSAGE("use aclmdlRIDebugJsonPrint")
ACL_FUNC_VISIBILITY aclError aclmdlRIDebugPrint(aclmdlRI modelRI);

/** Writes a graph to a JSON file; flags is an ACL_MDLRI_DEBUG_JSON_PRINT_* value. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path,
                                                    uint32_t flags);

/* ---------------------------------------------------------------- conditions */

/** Creates a condition value for conditional tasks of a graph, with a default. */
ACL_FUNC_VISIBILITY aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue,
                                                      aclmdlRICondHandleFlag flag,
                                                      aclmdlRICondHandle *handle);

/** Returns the device address of a condition value; tasks of the graph write to it. */
ACL_FUNC_VISIBILITY aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle,
                                                          uint64_t **ptr);

/** Adds a conditional task to the graph that `stream` is capturing. */
ACL_FUNC_VISIBILITY aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream,
                                                 uint32_t flags);

/* --------------------------------------------------------------------- tasks */

/**
 * Lists the streams of a graph. *numStreams is the size of the array, then the number of streams;
 * streams NULL gives only the number. The handles are for aclmdlRIGetTasksByStream.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams,
                                                uint32_t *numStreams);

/** Lists the tasks of a stream of a graph, like aclmdlRIGetStreams. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks,
                                                      uint32_t *numTasks);

/** Returns the kind of a task. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type);

/** Returns the sequence id of a task. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id);

/** Reads the parameters of a task. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams *params);

/** Changes the parameters of a task; see aclmdlRIUpdate. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams *params);

/** Disables a task; see aclmdlRIUpdate. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskDisable(aclmdlRITask task);

/** Reads a launch option of a kernel task. */
ACL_FUNC_VISIBILITY aclError aclmdlRIKernelTaskGetAttribute(aclmdlRITask task,
                                                            aclrtLaunchKernelAttrId attrId,
                                                            aclrtLaunchKernelAttrValue *attrValue);

/** Applies changes to tasks. The graph must not run -> 107037. */
ACL_FUNC_VISIBILITY aclError aclmdlRIUpdate(aclmdlRI modelRI);

/* -------------------------------------------------------------------- build */

/** Starts building a graph without a capture. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBuildBegin(aclmdlRI *modelRI, uint32_t flag);

/**
 * Adds a stream that was created with ACL_STREAM_PERSISTENT to a graph: its tasks run with the graph.
 * flag 0 starts it with the graph, 0x7fffffff when another stream activates it (rt/label.h).
 */
ACL_FUNC_VISIBILITY aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream,
                                                uint32_t flag);

/** Removes a stream from a graph. Its tasks stay in the graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream);

/** Marks the end of the tasks in a stream. */
ACL_FUNC_VISIBILITY aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream);

/** Ends building. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void *reserve);

/** Sets the name of a graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRISetName(aclmdlRI modelRI, const char *name);

/** Returns the name of a graph. maxLen smaller than the name with its final zero -> 107000. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name);

/** Registers a callback for the destruction of a graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func,
                                                             void *userData);

/** Removes a callback for the destruction of a graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI,
                                                               aclrtCallback func);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_GRAPH_H_ */
