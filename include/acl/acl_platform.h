/**
 * @file acl_platform.h
 * Chip properties as text. Numeric device properties are in rt/device.h.
 */
#ifndef ACL_ACL_PLATFORM_H_
#define ACL_ACL_PLATFORM_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This header does not define the values of these two; int has the size of the enums. */
typedef int aclplatformDevInfo;  /**< property of the chip */
typedef int aclplatformCoreType; /**< kind of core */

/** Reads one chip property: at most maxLen bytes, including the terminating zero. */
ACL_FUNC_VISIBILITY aclError aclplatformGetDeviceInfo(aclplatformDevInfo infoType, char *value,
                                                      uint32_t maxLen);

/** Reads the data types that an instruction supports: at most maxLen bytes, including the terminating zero. */
ACL_FUNC_VISIBILITY aclError aclplatformGetInstructionInfo(aclplatformCoreType type,
                                                           const char *instruction, char *value,
                                                           uint32_t maxLen);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_PLATFORM_H_ */
