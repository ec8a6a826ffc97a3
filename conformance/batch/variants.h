/*
 * The four batch copy functions behind one signature, and helpers to build their arguments.
 */
#ifndef CONFORMANCE_BATCH_VARIANTS_H
#define CONFORMANCE_BATCH_VARIANTS_H

#include "../expect.h"

#define UNTOUCHED ((size_t)0x5A5A)

enum variant { SYNC, SYNC_V2, ASYNC, ASYNC_V2, VARIANTS };

static const char *const variant_names[VARIANTS] = {"aclrtMemcpyBatch", "aclrtMemcpyBatchV2", "aclrtMemcpyBatchAsync",
                                              "aclrtMemcpyBatchAsyncV2"};

static inline int has_fail_index(enum variant variant)
{
    return variant == SYNC || variant == ASYNC;
}

static inline int is_async(enum variant variant)
{
    return variant == ASYNC || variant == ASYNC_V2;
}

struct batch {
    void **dsts;
    size_t *dest_maxs;
    void **srcs;
    size_t *sizes;
    size_t count;
    aclrtMemcpyBatchAttr *attrs;
    size_t *attr_indexes;
    size_t attr_count;
};

static inline aclError batch_call(enum variant variant, struct batch b, size_t *fail_index, aclrtStream stream)
{
    switch (variant) {
    case SYNC:
        return aclrtMemcpyBatch(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes, b.attr_count,
                                fail_index);
    case SYNC_V2:
        return aclrtMemcpyBatchV2(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes, b.attr_count);
    case ASYNC:
        return aclrtMemcpyBatchAsync(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes,
                                     b.attr_count, fail_index, stream);
    default:
        return aclrtMemcpyBatchAsyncV2(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes,
                                       b.attr_count, stream);
    }
}

/* Calls a variant and checks the code and, if the variant has one, the value of failIndex. */
static inline int expect_batch(enum variant variant, struct batch b, aclrtStream stream, aclError want,
                               size_t want_index, const char *file, int line)
{
    size_t index = UNTOUCHED;
    aclError got = batch_call(variant, b, &index, stream);
    int holds = expect_code(got, want, variant_names[variant], file, line);
    if (has_fail_index(variant)) {
        holds &= expect_true(index == want_index, "failIndex", file, line, "%s left failIndex %zu, expected %zu",
                             variant_names[variant], index, want_index);
    }
    return holds;
}

#define EXPECT_BATCH(variant, batch, stream, code, index) \
    expect_batch((variant), (batch), (stream), (code), (index), __FILE__, __LINE__)

static inline aclrtMemLocation location(aclrtMemLocationType type, uint32_t id)
{
    aclrtMemLocation result;
    result.id = id;
    result.type = type;
    return result;
}

static inline aclrtMemcpyBatchAttr attribute(aclrtMemLocation dst, aclrtMemLocation src)
{
    aclrtMemcpyBatchAttr result;
    memset(&result, 0, sizeof result);
    result.dstLoc = dst;
    result.srcLoc = src;
    return result;
}

static inline aclrtMemcpyBatchAttr host_to_device(void)
{
    return attribute(location(ACL_MEM_LOCATION_TYPE_DEVICE, 0), location(ACL_MEM_LOCATION_TYPE_HOST, 0));
}

static inline aclrtMemcpyBatchAttr device_to_host(void)
{
    return attribute(location(ACL_MEM_LOCATION_TYPE_HOST, 0), location(ACL_MEM_LOCATION_TYPE_DEVICE, 0));
}

#endif
