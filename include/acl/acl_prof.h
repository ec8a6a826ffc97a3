/**
 * @file acl_prof.h
 * Profiling: collecting to files, subscribing to models, and user marks in the trace.
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

/* This header does not define the values of these five; int has the size of the enums. */
typedef int aclprofAicoreMetrics;    /**< set of core metrics */
typedef int aclprofConfigType;       /**< setting of aclprofSetConfig */
typedef int aclprofSubscribeOpFlag;  /**< state of an operator */
typedef int aclprofSubscribeOpAttri; /**< attribute of an operator */
typedef int aclprofStepTag;          /**< begin or end of a step */

/* ------------------------------------------------------------------- collect */

/** Prepares collecting to a directory. */
ACL_FUNC_VISIBILITY aclError aclprofInit(const char *profilerResultPath, size_t length);

/** Ends collecting. */
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);

/** Starts collecting. */
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig *profilerConfig);

/** Stops collecting. */
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

/** Opens a range with attributes on this thread; ranges nest. */
ACL_FUNC_VISIBILITY aclError aclprofRangePushEx(aclprofEventAttributes *attr);

/** Closes the innermost range opened with aclprofRangePushEx. */
ACL_FUNC_VISIBILITY aclError aclprofRangePop(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_PROF_H_ */
