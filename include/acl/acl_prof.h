/**
 * @file acl_prof.h
 * Profiling: collecting to files, subscribing to models, and user marks in the trace.
 *
 * softacl collects a timeline of API calls, stream tasks and user marks, in the format that
 * `softacl trace` writes. Kernels do not run, so there is nothing to collect about them.
 */
#ifndef ACL_ACL_PROF_H_
#define ACL_ACL_PROF_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* These five are opaque: programs use only pointers to them. */
typedef struct aclprofConfig aclprofConfig;                   /**< what to collect */
typedef struct aclprofAicoreEvents aclprofAicoreEvents;       /**< list of core events */
typedef struct aclprofSubscribeConfig aclprofSubscribeConfig; /**< what to subscribe to */
typedef struct aclprofStepInfo aclprofStepInfo;               /**< times of one step */
typedef struct aclprofEventAttributes aclprofEventAttributes; /**< a range with a message */

/* This header does not define the values of these three; int has the size of the enums. */
typedef int aclprofConfigType;       /**< setting of aclprofSetConfig */
typedef int aclprofSubscribeOpFlag;  /**< state of an operator */
typedef int aclprofSubscribeOpAttri; /**< attribute of an operator */

/** Set of core metrics. softacl has no cores to measure. */
typedef enum {
    ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
    ACL_AICORE_PIPE_UTILIZATION = 1,
    ACL_AICORE_MEMORY_BANDWIDTH = 2,
    ACL_AICORE_L0B_AND_WIDTH = 3,
    ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
    ACL_AICORE_MEMORY_UB = 5,
    ACL_AICORE_L2_CACHE = 6,
    ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
    ACL_AICORE_MEMORY_ACCESS = 8,
    ACL_AICORE_NONE = 0xFF /**< no metrics */
} aclprofAicoreMetrics;

/** Begin or end of a step. */
typedef enum {
    ACL_STEP_START = 0,
    ACL_STEP_END = 1
} aclprofStepTag;

/* What to collect: bits of dataTypeConfig in aclprofCreateConfig. */
#define ACL_PROF_ACL_API 0x0001ULL         /**< API calls */
#define ACL_PROF_TASK_TIME 0x0002ULL       /**< times of tasks */
#define ACL_PROF_AICORE_METRICS 0x0004ULL  /**< core metrics */
#define ACL_PROF_AICPU 0x0008ULL           /**< tasks on the device's CPUs */
#define ACL_PROF_L2CACHE 0x0010ULL         /**< L2 cache */
#define ACL_PROF_HCCL_TRACE 0x0020ULL      /**< collective communication */
#define ACL_PROF_TRAINING_TRACE 0x0040ULL  /**< training steps */
#define ACL_PROF_MSPROFTX 0x0080ULL        /**< marks and ranges of the program */
#define ACL_PROF_RUNTIME_API 0x0100ULL     /**< runtime calls */
#define ACL_PROF_TASK_TIME_L0 0x0800ULL    /**< times of tasks, with the least detail */
#define ACL_PROF_TASK_MEMORY 0x1000ULL     /**< memory of operators */
#define ACL_PROF_TASK_TIME_L2 0x2000ULL    /**< times of tasks, with the most detail */
#define ACL_PROF_OP_ATTR 0x4000ULL         /**< attributes of operators */

#define ACL_PROF_MAX_OP_NAME_LEN 257 /**< buffer for an operator name, with the terminating zero */
#define ACL_PROF_MAX_OP_TYPE_LEN 65  /**< buffer for an operator type, with the terminating zero */

/* ------------------------------------------------------------------- collect */

/** Prepares collecting to a directory, which must exist. length is that of the path without a terminating zero. */
ACL_FUNC_VISIBILITY aclError aclprofInit(const char *profilerResultPath, size_t length);

/** Ends collecting, and writes what a missing aclprofStop has left. */
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);

/** Starts collecting. */
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig *profilerConfig);

/** Stops collecting, and writes the timeline since aclprofStart to the directory. */
ACL_FUNC_VISIBILITY aclError aclprofStop(const aclprofConfig *profilerConfig);

/** Creates a description of what to collect on which devices; NULL on failure. */
ACL_FUNC_VISIBILITY aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                                       aclprofAicoreMetrics aicoreMetrics,
                                                       const aclprofAicoreEvents *aicoreEvents,
                                                       uint64_t dataTypeConfig);

/** Destroys a description. */
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

/** Changes a setting of the profiler. */
ACL_FUNC_VISIBILITY aclError aclprofSetConfig(aclprofConfigType configType, const char *config,
                                              size_t configLength);

/* ----------------------------------------------------------------- subscribe */

/** Subscribes to the operators of a model. */
ACL_FUNC_VISIBILITY aclError
aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig);

/** Ends a subscription. */
ACL_FUNC_VISIBILITY aclError aclprofModelUnSubscribe(uint32_t modelId);

/** Creates a description of a subscription; records are written to fd. NULL on failure. */
ACL_FUNC_VISIBILITY aclprofSubscribeConfig *
aclprofCreateSubscribeConfig(int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics, void *fd);

/** Destroys a description. */
ACL_FUNC_VISIBILITY aclError
aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig);

/** Reads the size of one record in bytes. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpDescSize(size_t *opDescSize);

/** Reads the number of records in a block. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen,
                                             uint32_t *opNumber);

/** Reads the length of the operator type in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpTypeLen(const void *opInfo, size_t opInfoLen,
                                                 uint32_t index, size_t *opTypeLen);

/** Reads the operator type in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpType(const void *opInfo, size_t opInfoLen, uint32_t index,
                                              char *opType, size_t opTypeLen);

/** Reads the length of the operator name in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpNameLen(const void *opInfo, size_t opInfoLen,
                                                 uint32_t index, size_t *opNameLen);

/** Reads the operator name in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpName(const void *opInfo, size_t opInfoLen, uint32_t index,
                                              char *opName, size_t opNameLen);

/** Returns the start time in a record. */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen,
                                               uint32_t index);

/** Returns the end time in a record. */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index);

/** Returns the duration in a record. */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen,
                                                  uint32_t index);

/** Returns the model id in a record. */
ACL_FUNC_VISIBILITY size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index);

/** Returns the state of the operator in a record. */
ACL_FUNC_VISIBILITY aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen,
                                                            uint32_t index);

/** Returns an attribute of the operator in a record as text. */
ACL_FUNC_VISIBILITY const char *aclprofGetOpAttriValue(const void *opInfo, size_t opInfoLen,
                                                       uint32_t index,
                                                       aclprofSubscribeOpAttri attri);

/* --------------------------------------------------------------------- marks */

/** Queues a task that records the begin or end time of a step. */
ACL_FUNC_VISIBILITY aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
                                                     aclrtStream stream);

/** Creates an object for the times of a step; NULL on failure. */
ACL_FUNC_VISIBILITY aclprofStepInfo *aclprofCreateStepInfo(void);

/** Destroys an object for the times of a step. */
ACL_FUNC_VISIBILITY void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);

/** Creates a stamp; NULL on failure. */
ACL_FUNC_VISIBILITY void *aclprofCreateStamp(void);

/** Destroys a stamp. */
ACL_FUNC_VISIBILITY void aclprofDestroyStamp(void *stamp);

/** Sets the text of a stamp. */
ACL_FUNC_VISIBILITY aclError aclprofSetStampTraceMessage(void *stamp, const char *msg,
                                                         uint32_t msgLen);

/** Marks the current time with a stamp. */
ACL_FUNC_VISIBILITY aclError aclprofMark(void *stamp);

/** Marks the current time on the host and a point in a stream with a text. */
ACL_FUNC_VISIBILITY aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);

/** Opens a range on this thread; ranges nest. */
ACL_FUNC_VISIBILITY aclError aclprofPush(void *stamp);

/** Closes the innermost range opened with aclprofPush on this thread. */
ACL_FUNC_VISIBILITY aclError aclprofPop(void);

/** Opens a range that any thread may close. */
ACL_FUNC_VISIBILITY aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);

/** Closes a range that aclprofRangeStart opened. */
ACL_FUNC_VISIBILITY aclError aclprofRangeStop(uint32_t rangeId);

/** Returns an id for a text in traces. */
ACL_FUNC_VISIBILITY uint64_t aclprofStr2Id(const char *message);

/** Opens a range with attributes on this thread; ranges nest. softacl does not read the attributes. */
ACL_FUNC_VISIBILITY aclError aclprofRangePushEx(aclprofEventAttributes *attr);

/** Closes the innermost range opened with aclprofRangePushEx. */
ACL_FUNC_VISIBILITY aclError aclprofRangePop(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_PROF_H_ */
