/*
 * A page of pinned memory of which the middle is the destination of one queued copy, and a page of which it is the
 * source of another. The rest of both pages belongs to the program. Included after expect.h.
 */
#ifndef CONFORMANCE_NEIGHBOR_H
#define CONFORMANCE_NEIGHBOR_H

#define PAGE 4096
/* First byte in flight, and the first one after. */
#define FIRST 1024
#define AFTER 3072

struct neighbor {
    aclrtStream stream;
    char *to;
    char *from;
    char *device;
};

/* Queues both copies. */
static inline struct neighbor neighbor_begin(void)
{
    struct neighbor n;
    REQUIRE_OK(aclrtSetDevice(0));
    n.stream = new_stream();
    n.to = (char *)pinned_memory(PAGE);
    n.from = (char *)pinned_memory(PAGE);
    n.device = (char *)device_memory(2 * PAGE);
    memset(n.to, 0, PAGE);
    memset(n.from, 0, PAGE);
    memset(n.from + FIRST, 'a', AFTER - FIRST);
    EXPECT_OK(aclrtMemset(n.device, 2 * PAGE, 'b', 2 * PAGE));
    EXPECT_OK(aclrtMemcpyAsync(n.to + FIRST, AFTER - FIRST, n.device, AFTER - FIRST, ACL_MEMCPY_DEVICE_TO_HOST, n.stream));
    EXPECT_OK(aclrtMemcpyAsync(n.device + PAGE, AFTER - FIRST, n.from + FIRST, AFTER - FIRST, ACL_MEMCPY_HOST_TO_DEVICE,
                               n.stream));
    return n;
}

/* Waits for both copies, whatever their bytes are, and frees everything. */
static inline void neighbor_free(struct neighbor *n)
{
    EXPECT_OK(aclrtSynchronizeStream(n->stream));
    EXPECT_OK(aclrtFreeHost(n->to));
    EXPECT_OK(aclrtFreeHost(n->from));
    EXPECT_OK(aclrtFree(n->device));
    EXPECT_OK(aclrtDestroyStream(n->stream));
    EXPECT_OK(aclrtResetDevice(0));
}

/* Waits for both copies and checks their bytes. */
static inline void neighbor_end(struct neighbor *n)
{
    EXPECT_OK(aclrtSynchronizeStream(n->stream));
    for (int i = FIRST; i < AFTER; i += 511) {
        EXPECT_TRUE(n->to[i] == 'b', "byte %d is %d", i, n->to[i]);
    }
    EXPECT_DEVICE_VALUE((uint8_t *)n->device + PAGE, AFTER - FIRST, 'a');
    neighbor_free(n);
}

#endif
