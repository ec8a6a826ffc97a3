/*
 * The four batch calls behind one signature, and arrays to call them with.
 */
#ifndef CONFORMANCE_BATCH_FORMS_H
#define CONFORMANCE_BATCH_FORMS_H

#include "../expect.h"

#define UNTOUCHED ((size_t)0x5A5A)

enum form { SYNC, SYNC_V2, ASYNC, ASYNC_V2, FORMS };

static const char *const form_names[FORMS] = {"aclrtMemcpyBatch", "aclrtMemcpyBatchV2", "aclrtMemcpyBatchAsync",
                                              "aclrtMemcpyBatchAsyncV2"};

static inline int has_fail_index(enum form form)
{
    return form == SYNC || form == ASYNC;
}

static inline int is_async(enum form form)
{
    return form == ASYNC || form == ASYNC_V2;
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

static inline aclError batch_call(enum form form, struct batch b, size_t *fail_index, aclrtStream stream)
{
    switch (form) {
    case SYNC:
        return aclrtMemcpyBatch(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes, b.attr_count, fail_index);
    case SYNC_V2:
        return aclrtMemcpyBatchV2(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes, b.attr_count);
    case ASYNC:
        return aclrtMemcpyBatchAsync(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes, b.attr_count,
                                     fail_index, stream);
    default:
        return aclrtMemcpyBatchAsyncV2(b.dsts, b.dest_maxs, b.srcs, b.sizes, b.count, b.attrs, b.attr_indexes, b.attr_count, stream);
    }
}

/* Calls and compares the code and, in the forms that have one, the state of failIndex. */
static inline int expect_batch(enum form form, struct batch b, aclrtStream stream, aclError want, size_t want_index, const char *file,
                               int line)
{
    size_t index = UNTOUCHED;
    aclError got = batch_call(form, b, &index, stream);
    int holds = expect_code(got, want, form_names[form], file, line);
    if (has_fail_index(form)) {
        holds &= expect_true(index == want_index, "failIndex", file, line, "%s left failIndex %zu, expected %zu", form_names[form],
                             index, want_index);
    }
    return holds;
}

#define EXPECT_BATCH(form, batch, stream, code, index) expect_batch((form), (batch), (stream), (code), (index), __FILE__, __LINE__)

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
