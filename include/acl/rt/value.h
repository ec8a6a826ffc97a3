/**
 * @file rt/value.h
 * Writing a 64-bit value to memory from a stream, and waiting for a value in a stream. The host cannot
 * wait for a value; use events for that (rt/event.h).
 */
#ifndef ACL_RT_VALUE_H_
#define ACL_RT_VALUE_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Conditions of aclrtValueWait; x is the value in memory. softacl interprets AND and NOR as stated. */
#define ACL_STREAM_WAIT_VALUE_GEQ 0x00000000U /**< (int64_t)(x - value) >= 0 */
#define ACL_STREAM_WAIT_VALUE_EQ 0x00000001U  /**< x == value */
#define ACL_STREAM_WAIT_VALUE_AND 0x00000002U /**< (x & value) != 0 */
#define ACL_STREAM_WAIT_VALUE_NOR 0x00000003U /**< ~(x | value) != 0 */

/**
 * Queues a write of `value` to devAddr, which should be aligned to 8 bytes. devAddr NULL -> 100000; flag not 0, or not device memory ->
 * 107000; chip without the feature (310B, 310P, 910) -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag,
                                             aclrtStream stream);

/**
 * Queues a wait for a condition on the 64-bit value at devAddr. flag is an ACL_STREAM_WAIT_VALUE_*
 * condition; other values -> 107000. Other codes as in aclrtValueWrite.
 */
ACL_FUNC_VISIBILITY aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag,
                                            aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_VALUE_H_ */
