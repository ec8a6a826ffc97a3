/**
 * @file annotate.h
 * Annotations for the checker (`softacl check`) about memory accesses that it cannot observe: by a kernel, a host
 * function, a network card or another process; and about the blocks of allocators that keep their memory. Without the
 * checker these calls do nothing.
 */
#ifndef SOFTACL_ANNOTATE_H_
#define SOFTACL_ANNOTATE_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Declares a read of `size` bytes at `ptr`, in host or device memory.
 *
 * @param stream  orders the read like a task of this stream, as for a kernel; NULL declares a read outside all
 *                streams at the time of the call, as for a network card or another process
 */
ACL_FUNC_VISIBILITY aclError softaclAnnotateRead(void *stream, const void *ptr, size_t size);

/** Declares a write of `size` bytes at `ptr`, ordered like softaclAnnotateRead. */
ACL_FUNC_VISIBILITY aclError softaclAnnotateWrite(void *stream, const void *ptr, size_t size);

/**
 * Declares that an allocator of the program frees the block of `size` bytes at `ptr`, inside memory that it keeps. From
 * here to the softaclAnnotateAlloc that returns the bytes again, every use of them is a finding (L3).
 *
 * @param stream  frees the block in the order of this stream, after the tasks that were queued before; NULL frees it now
 */
ACL_FUNC_VISIBILITY aclError softaclAnnotateFree(const void *ptr, size_t size, void *stream);

/**
 * Declares that an allocator of the program returns the block of `size` bytes at `ptr`. The bytes count as never written
 * (U1). If they were freed before, this point must be ordered after the free: it is on the same stream, or an event or a
 * host wait lies between (otherwise L3).
 *
 * @param stream  the stream that will use the block first; NULL if the block may be used now, by anything
 */
ACL_FUNC_VISIBILITY aclError softaclAnnotateAlloc(const void *ptr, size_t size, void *stream);

#ifdef __cplusplus
}
#endif

#endif /* SOFTACL_ANNOTATE_H_ */
