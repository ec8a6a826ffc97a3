/**
 * @file aclnn_base.h
 * Start and end of the operator interface (aclnn), and its objects (acl_meta.h). The library is libnnopbase.so.
 */
#ifndef ACLNN_ACLNN_BASE_H_
#define ACLNN_ACLNN_BASE_H_

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initializes the operator interface. Optional, with or without aclInit. configPath is NULL, or the path of a JSON
 * file with debug options, which softacl does not use; a file that cannot be read -> ACLNN_ERR_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char *configPath);

/** Ends the use of the operator interface. Objects stay valid. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif /* ACLNN_ACLNN_BASE_H_ */
