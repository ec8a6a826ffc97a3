/**
 * @file acl_base.h
 * Base types and all error codes, used by every other header. The runtime functions are in acl_rt.h.
 */
#ifndef ACL_ACL_BASE_H_
#define ACL_ACL_BASE_H_

#include "acl/acl_base_rt.h"
#include "acl/acl_base_mdl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "acl/error_codes/ge_error_codes.h"

#endif /* ACL_ACL_BASE_H_ */
