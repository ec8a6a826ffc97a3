/**
 * @file acl_dump.h
 * Dumping operator arguments and data about failures. The switch for operator dump is in rt/dump.h.
 */
#ifndef ACL_ACL_DUMP_H_
#define ACL_ACL_DUMP_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kind of dump. This header does not define the values; int has the size of the enum. */
typedef int acldumpType;

/** Description of a tensor to save; opaque. */
typedef struct acldumpTensorInfo acldumpTensorInfo;

/** Starts dumping operator arguments to files under a path. */
ACL_FUNC_VISIBILITY aclError aclopStartDumpArgs(uint32_t dumpType, const char *path);

/** Stops dumping operator arguments. */
ACL_FUNC_VISIBILITY aclError aclopStopDumpArgs(uint32_t dumpType);

/** Returns the directory for dump files of a kind; NULL if none is set. */
ACL_FUNC_VISIBILITY const char *acldumpGetPath(acldumpType dumpType);

/** Saves tensors together with the data of a failure. */
ACL_FUNC_VISIBILITY aclError acldumpSaveExceptionInfo(const char *fileName, const char *userTag,
                                                      const acldumpTensorInfo *tensors,
                                                      size_t tensorCount);

/** Reads the directory for failure data: at most maxLen bytes, including the terminating zero. */
ACL_FUNC_VISIBILITY aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_DUMP_H_ */
