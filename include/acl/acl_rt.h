/**
 * @file acl_rt.h
 * The runtime API. This file only includes the headers of its areas, each of which can also be
 * included alone. Start reading at rt/types.h (terms and common results), then rt/device.h,
 * rt/memory.h, rt/stream.h and rt/copy.h.
 */
#ifndef ACL_ACL_RT_H_
#define ACL_ACL_RT_H_

#include "acl/acl_base.h"
#include "acl/acl_rt_allocator.h"

/* devices, streams and synchronization */
#include "acl/rt/types.h"
#include "acl/rt/init.h"
#include "acl/rt/error.h"
#include "acl/rt/device.h"
#include "acl/rt/context.h"
#include "acl/rt/stream.h"
#include "acl/rt/event.h"
#include "acl/rt/notify.h"
#include "acl/rt/callback.h"
#include "acl/rt/value.h"
#include "acl/rt/label.h"

/* memory */
#include "acl/rt/memory.h"
#include "acl/rt/copy.h"
#include "acl/rt/copy_batch.h"
#include "acl/rt/copy_desc.h"
#include "acl/rt/symbol.h"
#include "acl/rt/peer.h"
#include "acl/rt/ipc.h"
#include "acl/rt/virtual_memory.h"
#include "acl/rt/managed.h"
#include "acl/rt/cache.h"
#include "acl/rt/mbuf.h"

/* kernels, graphs and the rest */
#include "acl/rt/kernel.h"
#include "acl/rt/kernel_args.h"
#include "acl/rt/kernel_tasks.h"
#include "acl/rt/graph.h"
#include "acl/rt/exec_params.h"
#include "acl/rt/group.h"
#include "acl/rt/dump.h"
#include "acl/rt/snapshot.h"

#endif /* ACL_ACL_RT_H_ */
