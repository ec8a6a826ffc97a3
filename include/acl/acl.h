/**
 * @file acl.h
 * The one header most programs need: it pulls in the whole runtime interface.
 *
 *     #include "acl/acl.h"
 *
 * Inside: acl_rt.h (devices, streams, events, memory, copies, graphs) plus the operator and model
 * headers, which declare only what operators that copy need. Not inside, include them yourself when
 * you need them: acl_op_compiler.h, acl_rt_memory_soma.h, acl_tdt.h, acl_tdt_queue.h, acl_dump.h,
 * acl_prof.h, acl_platform.h.
 */
#ifndef ACL_ACL_H_
#define ACL_ACL_H_

#include "acl/acl_rt.h"
#include "acl/acl_op.h"
#include "acl/acl_mdl.h"

#endif /* ACL_ACL_H_ */
