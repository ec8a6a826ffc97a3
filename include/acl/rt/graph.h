/**
 * @file rt/graph.h
 * Graphs (aclmdlRI): record the work of streams once, run it many times. Loading model files is not
 * here.
 *
 *     aclmdlRI graph;
 *     aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL);
 *     ... asynchronous work in stream: recorded, not run ...
 *     aclmdlRICaptureEnd(stream, &graph);
 *     for (i = 0; i < n; i++) aclmdlRIExecuteAsync(graph, stream);
 *     aclrtSynchronizeStream(stream);
 *     aclmdlRIDestroy(graph);
 *
 * While a stream captures
 *   - Copies between pinned and device memory are recorded; with pageable memory -> 107000.
 *   - Waiting for the stream, querying or destroying it -> 107027; waiting on the host for an event
 *     recorded in it -> 107028.
 *   - Another stream joins in by waiting for an event of the captured one, and must be joined back
 *     the same way before the end (else 107025).
 *   - Blocking copies, fills and allocations are forbidden (107030), and copies that would have to
 *     block, too (107041): anywhere in global mode, in the capturing thread in thread-local mode,
 *     nowhere in relaxed mode.
 *   - A mistake can spoil the capture; then the end gives 507903.
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

/** How strict a capture is about blocking calls, see the top of this file. */
typedef enum aclmdlRICaptureMode {
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,       /**< forbidden in all threads */
    ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1, /**< forbidden in the capturing thread */
    ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2       /**< allowed */
} aclmdlRICaptureMode;

/** State of a stream. */
typedef enum aclmdlRICaptureStatus {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,       /**< not capturing */
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,     /**< capturing */
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2 /**< capturing, but spoiled */
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
 * Parameters of any task; `type` says which field of the union counts. The size and the fields up
 * to rsv1 are given; that the last 128 bytes are an unnamed union, and the names of its fields, are
 * a choice of this header.
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

/** Value that a conditional task looks at; opaque. */
typedef void *aclmdlRICondHandle;

/** Flag of aclmdlRICondHandleCreate. */
typedef enum aclmdlRICondHandleFlag {
    ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT = 1 /**< every run starts with the default value */
} aclmdlRICondHandleFlag;

/** Kind of conditional task; the meanings are softacl's. */
typedef enum aclmdlRICondTaskType {
    ACL_MODEL_RI_COND_TYPE_IF = 0,    /**< run if not 0; a second graph is the else part */
    ACL_MODEL_RI_COND_TYPE_WHILE = 1, /**< run as long as not 0 */
    ACL_MODEL_RI_COND_TYPE_SWITCH = 2 /**< run the graph with that index */
} aclmdlRICondTaskType;

/** A conditional task; passed by value. */
typedef struct aclmdlRICondTaskParams {
    aclmdlRICondHandle handle;
    aclmdlRICondTaskType type;
    uint32_t size;          /**< number of sub-graphs */
    aclmdlRI *modelRIArray; /**< the sub-graphs; softacl makes them and writes their handles here */
} aclmdlRICondTaskParams;

/* ------------------------------------------------------------------- capture */

/**
 * Starts capturing a stream; its work is recorded from now on. The default stream cannot be
 * captured (107031), a capturing one not twice (107027). Chip without it (310B, 910) -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);

/**
 * Ends the capture and returns the graph. Not capturing -> 107029; another stream than at the begin
 * -> 107036; another thread -> 107038; side stream not joined -> 107025; spoiled -> 507903.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI);

/** Whether a stream captures, and into which graph. Allowed while capturing, of course. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureGetInfo(aclrtStream stream,
                                                    aclmdlRICaptureStatus *status,
                                                    aclmdlRI *modelRI);

/**
 * Swaps the calling thread's mode with *mode. Call it with RELAXED to allow blocking calls for a
 * while, and again with what it gave you to go back.
 */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode);

/** Starts capturing into a graph that exists: a sub-graph of a conditional task. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI,
                                                           aclmdlRICaptureMode mode);

/** Starts a group of captured tasks that can be updated later. Inside a group -> 107033. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);

/** Ends the group and returns its handle. Outside a group -> 107033. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle);

/** Starts giving the tasks of a group new parameters: submit the same tasks again to `stream`. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream,
                                                            aclrtTaskGrp handle);

/** Ends that. Other tasks than in the group, or not as many -> an error. */
ACL_FUNC_VISIBILITY aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

/* ----------------------------------------------------------------------- run */

/** Queues a whole graph as one piece of work in a stream. The graph must live until it is done. */
ACL_FUNC_VISIBILITY aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);

/** Runs a graph and waits for it; timeout in milliseconds, -1 for ever. */
ACL_FUNC_VISIBILITY aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout);

/** Destroys a graph. Still running -> 107037. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroy(aclmdlRI modelRI);

/** Stops a running graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIAbort(aclmdlRI modelRI);

/** The number of a graph, for logs and traces. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId);

/** Prints a graph for people; softacl: on standard error. */
ACL_DEPRECATED_MESSAGE("use aclmdlRIDebugJsonPrint")
ACL_FUNC_VISIBILITY aclError aclmdlRIDebugPrint(aclmdlRI modelRI);

/** Writes a graph to a JSON file; flags is an ACL_MDLRI_DEBUG_JSON_PRINT_* value. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path,
                                                    uint32_t flags);

/* ---------------------------------------------------------------- conditions */

/** Makes a value for conditional tasks of a graph, with a default. */
ACL_FUNC_VISIBILITY aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue,
                                                      aclmdlRICondHandleFlag flag,
                                                      aclmdlRICondHandle *handle);

/** Device address of the value: tasks of the graph write there to decide. */
ACL_FUNC_VISIBILITY aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle,
                                                          uint64_t **ptr);

/** Adds a conditional task to the graph that `stream` is capturing. */
ACL_FUNC_VISIBILITY aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream,
                                                 uint32_t flags);

/* --------------------------------------------------------------------- tasks */

/** Streams of a graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams,
                                                uint32_t *numStreams);

/** Tasks of such a stream. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks,
                                                      uint32_t *numTasks);

/** Kind of a task. */
ACL_FUNC_VISIBILITY aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type);

/** Sequence id of a task. */
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

/** Applies changes of tasks. */
ACL_FUNC_VISIBILITY aclError aclmdlRIUpdate(aclmdlRI modelRI);

/* ------------------------------------------------------------ build by hand */

/** Starts a graph that is built by hand. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBuildBegin(aclmdlRI *modelRI, uint32_t flag);

/** Makes a stream part of the graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream,
                                                uint32_t flag);

/** Takes it out again. */
ACL_FUNC_VISIBILITY aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream);

/** Marks the end of the work in a stream. */
ACL_FUNC_VISIBILITY aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream);

/** Ends building. */
ACL_FUNC_VISIBILITY aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void *reserve);

/** Gives a graph a name. */
ACL_FUNC_VISIBILITY aclError aclmdlRISetName(aclmdlRI modelRI, const char *name);

/** The name of a graph. */
ACL_FUNC_VISIBILITY aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name);

/** Calls back when the graph is destroyed. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func,
                                                             void *userData);

/** Removes that callback. */
ACL_FUNC_VISIBILITY aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI,
                                                               aclrtCallback func);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_GRAPH_H_ */
