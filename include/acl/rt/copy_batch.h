/**
 * @file rt/copy_batch.h
 * Many copies between host and device in one call. Single copies are in rt/copy.h.
 */
#ifndef ACL_RT_COPY_BATCH_H_
#define ACL_RT_COPY_BATCH_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memory locations of consecutive items of a batch. Zero the whole struct first; rsv must be 0. */
typedef struct aclrtMemcpyBatchAttr {
    aclrtMemLocation dstLoc; /**< location of the destinations */
    aclrtMemLocation srcLoc; /**< location of the sources */
    uint8_t rsv[16];         /**< reserved, must be 0 */
} aclrtMemcpyBatchAttr;

/**
 * Queues numBatches copies between host and device in a stream.
 *
 *     void  *dst[2]  = {devA, devB};                      // two uploads to device 0
 *     void  *src[2]  = {hostA, hostB};
 *     size_t max[2]  = {sizeA, sizeB}, len[2] = {sizeA, sizeB};
 *     aclrtMemcpyBatchAttr attr = {{0, ACL_MEM_LOCATION_TYPE_DEVICE},   // dst: device 0
 *                                  {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
 *     size_t first = 0, bad;                              // attr applies to item 0 and all later ones
 *     err = aclrtMemcpyBatchAsync(dst, max, src, len, 2, &attr, &first, 1, &bad, stream);
 *     if (err != ACL_SUCCESS && bad != SIZE_MAX) printf("item %zu is wrong\n", bad);
 *
 * Arguments
 *   dsts, destMaxs, srcs, sizes   numBatches elements each: destination, its capacity, source, bytes
 *   attrs, attrsIndexes           numAttrs elements each; attrs[k] applies to the items from
 *                                 attrsIndexes[k] up to the next entry, the last one to the end.
 *                                 attrsIndexes[0] is 0 and the entries increase.
 *   failIndex                     out: index of the refused item, or SIZE_MAX if no single item
 *                                 caused the error. 100000, 107017 and a chip without batch copies
 *                                 leave it unchanged.
 *
 * The attributes are only compared with the addresses; the direction follows from the addresses. For
 * pageable memory declare HOST: UNREGISTERED never matches. HOST_NUMA counts as HOST. For DEVICE the
 * id must match, for HOST it is ignored. Every item has one end on the host and one on the device;
 * host to host and device to device give 107000. A batch may contain both directions.
 *
 * Items are checked and queued one after the other: if item i is refused, the items before it are
 * already queued (on the 950 all are checked first). For an item with pageable memory the call waits
 * for the stream and copies before it returns. Do not rely on the order of the items.
 *
 * Checked in this order:
 *   100000   failIndex NULL; sizes NULL; numBatches 0
 *   0        all sizes are 0; no other argument is checked, *failIndex = SIZE_MAX
 *   100000   another array NULL; a size greater than its destMax; a byte of rsv not 0
 *   207000   chip without batch copies (910, 310P, 310B)
 *   107017   bad stream handle
 *   107000   numAttrs is 0 or greater than numBatches; attrsIndexes not as described above
 *   107002   no current context
 *   107000   an item with size 0, a NULL address or a wrong location: *failIndex is its index
 *   107003   stream of another context
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs,
                                                   size_t *sizes, size_t numBatches,
                                                   aclrtMemcpyBatchAttr *attrs,
                                                   size_t *attrsIndexes, size_t numAttrs,
                                                   size_t *failIndex, aclrtStream stream);

/** aclrtMemcpyBatchAsync without failIndex. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs,
                                                     size_t *sizes, size_t numBatches,
                                                     aclrtMemcpyBatchAttr *attrs,
                                                     size_t *attrsIndexes, size_t numAttrs,
                                                     aclrtStream stream);

/**
 * Blocking variant of aclrtMemcpyBatchAsync. All items are checked before the first byte is copied.
 * Differences: at most 4096 items (else 107000), single items may have size 0, and no current context
 * is needed.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs,
                                              size_t *sizes, size_t numBatches,
                                              aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                                              size_t numAttrs, size_t *failIndex);

/** aclrtMemcpyBatch without failIndex. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs,
                                                size_t *sizes, size_t numBatches,
                                                aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                                                size_t numAttrs);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_COPY_BATCH_H_ */
