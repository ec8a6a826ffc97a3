/**
 * @file acl_platform.h
 * Properties of the chip as text. Numbers about a device are in rt/device.h.
 */
#ifndef ACL_ACL_PLATFORM_H_
#define ACL_ACL_PLATFORM_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values of these two are not part of this header: plain ints, of the size of an enum. */
typedef int aclplatformDevInfo;  /**< property of the chip */
typedef int aclplatformCoreType; /**< kind of core */

/** One property of the chip, at most maxLen bytes with the closing 0. */
ACL_FUNC_VISIBILITY aclError aclplatformGetDeviceInfo(aclplatformDevInfo infoType, char *value,
                                                      uint32_t maxLen);

/** Data types that an instruction works with, at most maxLen bytes with the closing 0. */
ACL_FUNC_VISIBILITY aclError aclplatformGetInstructionInfo(aclplatformCoreType type,
                                                           const char *instruction, char *value,
                                                           uint32_t maxLen);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_PLATFORM_H_ */
