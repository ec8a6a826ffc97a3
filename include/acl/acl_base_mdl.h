/**
 * @file acl_base_mdl.h
 * Placeholder for the base types of the model interface (tensor descriptions and the like). It
 * declares nothing; acl_base.h includes it so that the include structure is the expected one.
 */
#ifndef ACL_ACL_BASE_MDL_H_
#define ACL_ACL_BASE_MDL_H_

#include "acl/acl_base_rt.h"

#endif /* ACL_ACL_BASE_MDL_H_ */
