/**
 * @file acl_mdl.h
 * Placeholder for the offline-model API (aclmdlLoad*, aclmdlExecute*). It declares nothing, because
 * loading model files is not part of the runtime. Captured graphs (aclmdlRI*) are in acl_rt.h.
 */
#ifndef ACL_ACL_MDL_H_
#define ACL_ACL_MDL_H_

#include "acl/acl_base.h"

#endif /* ACL_ACL_MDL_H_ */
