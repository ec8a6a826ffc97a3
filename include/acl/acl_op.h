/**
 * @file acl_op.h
 * Placeholder for the single-operator interface (aclop*). It declares nothing: running operators is
 * not part of the runtime. The file exists so that sources which include it still compile.
 */
#ifndef ACL_ACL_OP_H_
#define ACL_ACL_OP_H_

#include "acl/acl_base.h"

#endif /* ACL_ACL_OP_H_ */
