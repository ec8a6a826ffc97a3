/**
 * @file annotate.h
 * Annotations for the checker (`softacl check`) about memory accesses that it cannot observe: by a kernel, a host
 * function, a network card or another process. Without the checker these calls do nothing.
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

#ifdef __cplusplus
}
#endif

#endif /* SOFTACL_ANNOTATE_H_ */
