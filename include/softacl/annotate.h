/**
 * @file annotate.h
 * Tells the checker (`softacl check`) what code that it cannot see touches: a kernel, a host function, a
 * network card, another process. Without the checker these calls do nothing.
 */
#ifndef SOFTACL_ANNOTATE_H_
#define SOFTACL_ANNOTATE_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Something reads `size` bytes at `ptr`, host or device memory.
 *
 * @param stream  in order with the tasks of this stream, as a kernel would; NULL means outside all
 *                streams and now, as a network card or another process would
 */
ACL_FUNC_VISIBILITY aclError softaclAnnotateRead(void *stream, const void *ptr, size_t size);

/** Something writes `size` bytes at `ptr`. */
ACL_FUNC_VISIBILITY aclError softaclAnnotateWrite(void *stream, const void *ptr, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SOFTACL_ANNOTATE_H_ */
