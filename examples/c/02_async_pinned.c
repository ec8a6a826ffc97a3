/*
 * Two streams, pinned memory, one wait for each: the shape of every upload/download pipeline.
 *
 * Copies are really asynchronous only between device memory and pinned memory (aclrtMallocHost).
 * With ordinary memory the same call first waits for the whole stream and then copies.
 *
 * What goes wrong without the waits: `down` is read while the copy into it is still queued, and the
 * program sees old bytes; or `up` is refilled while the copy out of it is still queued, and the
 * device gets the bytes of the next round. Whether anybody notices is luck. Remove the line marked
 * (1) and run with SOFTACL_SCHEDULE=late: it fails every time. With `early` it never does.
 */
#include "common.h"

#define SIZE (1 << 20)
#define STREAMS 2
#define ROUNDS 4

int main(void)
{
    aclrtStream stream[STREAMS];
    void *device[STREAMS], *up[STREAMS], *down[STREAMS];

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    for (int s = 0; s < STREAMS; s++) {
        CHECK(aclrtCreateStream(&stream[s]));
        CHECK(aclrtMalloc(&device[s], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMallocHost(&up[s], SIZE));
        CHECK(aclrtMallocHost(&down[s], SIZE));
        memset(down[s], 0, SIZE);
    }

    for (unsigned round = 0; round < ROUNDS; round++) {
        /* Within a stream the second copy starts after the first; the streams know nothing of
         * each other. Success means "queued" here, not "done". */
        for (int s = 0; s < STREAMS; s++) {
            fill_pattern(up[s], SIZE, round * STREAMS + (unsigned)s);
            CHECK(aclrtMemcpyAsync(device[s], SIZE, up[s], SIZE, ACL_MEMCPY_HOST_TO_DEVICE,
                                   stream[s]));
            CHECK(aclrtMemcpyAsync(down[s], SIZE, device[s], SIZE, ACL_MEMCPY_DEVICE_TO_HOST,
                                   stream[s]));
        }
        /* From here until the waits return, up[] and down[] belong to the device. */
        for (int s = 0; s < STREAMS; s++) {
            CHECK(aclrtSynchronizeStream(stream[s])); /* (1) reports errors of queued copies too */
            VERIFY(has_pattern(down[s], SIZE, round * STREAMS + (unsigned)s));
        }
    }
    printf("02_async_pinned: %d rounds on %d streams, all bytes right\n", ROUNDS, STREAMS);

    for (int s = 0; s < STREAMS; s++) {
        CHECK(aclrtFreeHost(down[s])); /* freeing waits for nothing: only after the last wait */
        CHECK(aclrtFreeHost(up[s]));
        CHECK(aclrtFree(device[s]));
        CHECK(aclrtDestroyStream(stream[s]));
    }
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
