/**
 * @file acl_dump.h
 * Dump of operator arguments and of data around failures. Switching operator dump on and off is in
 * rt/dump.h.
 */
#ifndef ACL_ACL_DUMP_H_
#define ACL_ACL_DUMP_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kind of dump. Its values are not part of this header: a plain int, of the size of an enum. */
typedef int acldumpType;

/** Description of a tensor to save. Only pointers to it are used here, so it is opaque. */
typedef struct acldumpTensorInfo acldumpTensorInfo;

/** Starts writing down operator arguments under a path. */
ACL_FUNC_VISIBILITY aclError aclopStartDumpArgs(uint32_t dumpType, const char *path);

/** Stops that. */
ACL_FUNC_VISIBILITY aclError aclopStopDumpArgs(uint32_t dumpType);

/** Where dump files of a kind go; NULL if nowhere. */
ACL_FUNC_VISIBILITY const char *acldumpGetPath(acldumpType dumpType);

/** Saves tensors with the data of a failure. */
ACL_FUNC_VISIBILITY aclError acldumpSaveExceptionInfo(const char *fileName, const char *userTag,
                                                      const acldumpTensorInfo *tensors,
                                                      size_t tensorCount);

/** Where the data of failures goes, at most maxLen bytes with the closing 0. */
ACL_FUNC_VISIBILITY aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_DUMP_H_ */
