/**
 * @file acl_dvpp.h
 * Media processing (images and video). softacl has none: this header exists so that programs which
 * include it but only use the runtime compile. It declares no functions.
 */
#ifndef ACL_OPS_ACL_DVPP_H_
#define ACL_OPS_ACL_DVPP_H_

#include "acl/acl.h"

#endif /* ACL_OPS_ACL_DVPP_H_ */
