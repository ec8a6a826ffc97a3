/**
 * @file rt/mbuf.h
 * Reference-counted shared buffers that can be chained. Queues of shared buffers are in
 * acl_tdt_queue.h.
 */
#ifndef ACL_RT_MBUF_H_
#define ACL_RT_MBUF_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Allocates a buffer with a capacity of size bytes. */
ACL_FUNC_VISIBILITY aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size);

/** Releases a reference; releasing the last one frees the buffer. */
ACL_FUNC_VISIBILITY aclError aclrtFreeBuf(aclrtMbuf buf);

/** Creates another reference to the data of a buffer. */
ACL_FUNC_VISIBILITY aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf);

/** Reads the address and the capacity of the data. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size);

/** Sets the number of bytes in use. */
ACL_FUNC_VISIBILITY aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len);

/** Reads the number of bytes in use. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len);

/** Writes to the user area of the buffer, which has 96 bytes. */
ACL_FUNC_VISIBILITY aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size,
                                                 size_t offset);

/** Reads from the user area of the buffer, which has 96 bytes. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size,
                                                 size_t offset);

/** Appends a buffer to a chain, which owns it from then on. */
ACL_FUNC_VISIBILITY aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf);

/** Reads the number of buffers in a chain. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num);

/** Reads one buffer of a chain. Index 0 is the head. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index,
                                                  aclrtMbuf *buf);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_MBUF_H_ */
