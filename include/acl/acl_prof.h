/**
 * @file acl_prof.h
 * Profiling: collecting to files, subscribing to models, and marks of your own in the trace.
 */
#ifndef ACL_ACL_PROF_H_
#define ACL_ACL_PROF_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* These five are only ever used through pointers, so they are opaque. */
typedef struct aclprofConfig aclprofConfig;                   /**< what to collect */
typedef struct aclprofAicoreEvents aclprofAicoreEvents;       /**< list of core events */
typedef struct aclprofSubscribeConfig aclprofSubscribeConfig; /**< what to subscribe to */
typedef struct aclprofStepInfo aclprofStepInfo;               /**< times of one step */
typedef struct aclprofEventAttributes aclprofEventAttributes; /**< a range with a message */

/* The values of these five are not part of this header: plain ints, of the size of an enum. */
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

/** Describes what to collect on which devices; NULL on failure. */
ACL_FUNC_VISIBILITY aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                                       aclprofAicoreMetrics aicoreMetrics,
                                                       const aclprofAicoreEvents *aicoreEvents,
                                                       uint64_t dataTypeConfig);

/** Destroys such a description. */
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

/** Changes a setting of the profiler. */
ACL_FUNC_VISIBILITY aclError aclprofSetConfig(aclprofConfigType configType, const char *config,
                                              size_t configLength);

/* ----------------------------------------------------------------- subscribe */

/** Subscribes to the operators of a model. */
ACL_FUNC_VISIBILITY aclError
aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig);

/** Ends that. */
ACL_FUNC_VISIBILITY aclError aclprofModelUnSubscribe(uint32_t modelId);

/** Describes a subscription; records are written to fd. NULL on failure. */
ACL_FUNC_VISIBILITY aclprofSubscribeConfig *
aclprofCreateSubscribeConfig(int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics, void *fd);

/** Destroys such a description. */
ACL_FUNC_VISIBILITY aclError
aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig);

/** Bytes of one record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpDescSize(size_t *opDescSize);

/** Number of records in a block. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen,
                                             uint32_t *opNumber);

/** Length of the operator type in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpTypeLen(const void *opInfo, size_t opInfoLen,
                                                 uint32_t index, size_t *opTypeLen);

/** Operator type in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpType(const void *opInfo, size_t opInfoLen, uint32_t index,
                                              char *opType, size_t opTypeLen);

/** Length of the operator name in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpNameLen(const void *opInfo, size_t opInfoLen,
                                                 uint32_t index, size_t *opNameLen);

/** Operator name in a record. */
ACL_FUNC_VISIBILITY aclError aclprofGetOpName(const void *opInfo, size_t opInfoLen, uint32_t index,
                                              char *opName, size_t opNameLen);

/** Start time in a record. */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen,
                                               uint32_t index);

/** End time in a record. */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index);

/** Duration in a record. */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen,
                                                  uint32_t index);

/** Model of a record. */
ACL_FUNC_VISIBILITY size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index);

/** State of the operator of a record. */
ACL_FUNC_VISIBILITY aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen,
                                                            uint32_t index);

/** Attribute of the operator of a record, as text. */
ACL_FUNC_VISIBILITY const char *aclprofGetOpAttriValue(const void *opInfo, size_t opInfoLen,
                                                       uint32_t index,
                                                       aclprofSubscribeOpAttri attri);

/* --------------------------------------------------------------------- marks */

/** Queues noting the time of the begin or end of a step. */
ACL_FUNC_VISIBILITY aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
                                                     aclrtStream stream);

/** Makes an object for the times of a step; NULL on failure. */
ACL_FUNC_VISIBILITY aclprofStepInfo *aclprofCreateStepInfo(void);

/** Destroys it. */
ACL_FUNC_VISIBILITY void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);

/** Makes a stamp; NULL on failure. */
ACL_FUNC_VISIBILITY void *aclprofCreateStamp(void);

/** Destroys a stamp. */
ACL_FUNC_VISIBILITY void aclprofDestroyStamp(void *stamp);

/** Sets the text of a stamp. */
ACL_FUNC_VISIBILITY aclError aclprofSetStampTraceMessage(void *stamp, const char *msg,
                                                         uint32_t msgLen);

/** Marks this moment with a stamp. */
ACL_FUNC_VISIBILITY aclError aclprofMark(void *stamp);

/** Marks a moment on the host and in a stream with a text. */
ACL_FUNC_VISIBILITY aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);

/** Opens a range in this thread; ranges nest. */
ACL_FUNC_VISIBILITY aclError aclprofPush(void *stamp);

/** Closes the innermost range of this thread. */
ACL_FUNC_VISIBILITY aclError aclprofPop(void);

/** Opens a range that any thread may close. */
ACL_FUNC_VISIBILITY aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);

/** Closes such a range. */
ACL_FUNC_VISIBILITY aclError aclprofRangeStop(uint32_t rangeId);

/** A number that stands for a text in traces. */
ACL_FUNC_VISIBILITY uint64_t aclprofStr2Id(const char *message);

/** Opens a range with attributes in this thread; ranges nest. */
ACL_FUNC_VISIBILITY aclError aclprofRangePushEx(aclprofEventAttributes *attr);

/** Closes the innermost range opened with aclprofRangePushEx. */
ACL_FUNC_VISIBILITY aclError aclprofRangePop(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_PROF_H_ */
