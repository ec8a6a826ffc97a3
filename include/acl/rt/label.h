/**
 * @file rt/label.h
 * Jumps inside a stream and switches between streams, for graphs built without a capture. Captured
 * graphs have conditional tasks instead (rt/graph.h).
 */
#ifndef ACL_RT_LABEL_H_
#define ACL_RT_LABEL_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Comparison of aclrtSwitchStream. */
typedef enum aclrtCondition {
    ACL_RT_EQUAL = 0,
    ACL_RT_NOT_EQUAL = 1,
    ACL_RT_GREATER = 2,
    ACL_RT_GREATER_OR_EQUAL = 3,
    ACL_RT_LESS = 4,
    ACL_RT_LESS_OR_EQUAL = 5
} aclrtCondition;

/** Type of the values that aclrtSwitchStream compares. */
typedef enum aclrtCompareDataType {
    ACL_RT_SWITCH_INT32 = 0,
    ACL_RT_SWITCH_INT64 = 1
} aclrtCompareDataType;

/** Creates a label. */
ACL_FUNC_VISIBILITY aclError aclrtCreateLabel(aclrtLabel *label);

/** Places a label in a stream. */
ACL_FUNC_VISIBILITY aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream);

/** Destroys a label. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyLabel(aclrtLabel label);

/** Creates a jump table of labels. */
ACL_FUNC_VISIBILITY aclError aclrtCreateLabelList(aclrtLabel *labels, size_t num,
                                                  aclrtLabelList *labelList);

/** Destroys a jump table. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyLabelList(aclrtLabelList labelList);

/** Queues a jump to a label of a list by index. */
ACL_FUNC_VISIBILITY aclError aclrtSwitchLabelByIndex(void *ptr, uint32_t maxValue,
                                                     aclrtLabelList labelList, aclrtStream stream);

/** Queues the activation of another stream. */
ACL_FUNC_VISIBILITY aclError aclrtActiveStream(aclrtStream activeStream, aclrtStream stream);

/** Queues a switch to trueStream or falseStream, depending on a comparison of two values. */
ACL_FUNC_VISIBILITY aclError aclrtSwitchStream(void *leftValue, aclrtCondition cond,
                                               void *rightValue, aclrtCompareDataType dataType,
                                               aclrtStream trueStream, aclrtStream falseStream,
                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_LABEL_H_ */
