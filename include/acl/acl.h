/**
 * @file acl.h
 * The one header that most programs need: it includes the whole runtime API.
 *
 *     #include "acl/acl.h"
 *
 * It includes acl_rt.h (devices, streams, events, memory, copies, graphs) and the operator and model
 * headers, which declare only what copying operators need. Include the other headers separately:
 * acl_op_compiler.h, acl_rt_memory_soma.h, acl_tdt.h, acl_tdt_queue.h, acl_dump.h, acl_prof.h,
 * acl_platform.h.
 */
#ifndef ACL_ACL_H_
#define ACL_ACL_H_

#include "acl/acl_rt.h"
#include "acl/acl_op.h"
#include "acl/acl_mdl.h"

#endif /* ACL_ACL_H_ */
