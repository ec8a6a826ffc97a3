/*
 * Two streams, pinned memory and one wait per stream: the basic upload/download pipeline.
 *
 * Copies are asynchronous only between device memory and pinned memory (aclrtMallocHost). With
 * pageable memory the same call first waits for the whole stream and then copies.
 *
 * Without the waits, the program may read `down` while the copy into it is still queued, and get old
 * bytes. It may also refill `up` while the copy from it is still queued; the device then gets the
 * bytes of the next round. Both may go unnoticed. Remove the line marked (1) and run with
 * SOFTACL_SCHEDULE=late: the program fails every time. With `early` it never fails.
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
        /* Within a stream the second copy starts after the first. The two streams are not ordered
         * with each other. Success means that the copy is queued, not that it is done. */
        for (int s = 0; s < STREAMS; s++) {
            fill_pattern(up[s], SIZE, round * STREAMS + (unsigned)s);
            CHECK(aclrtMemcpyAsync(device[s], SIZE, up[s], SIZE, ACL_MEMCPY_HOST_TO_DEVICE,
                                   stream[s]));
            CHECK(aclrtMemcpyAsync(down[s], SIZE, device[s], SIZE, ACL_MEMCPY_DEVICE_TO_HOST,
                                   stream[s]));
        }
        /* Until the waits return, the host must not touch up[] and down[]. */
        for (int s = 0; s < STREAMS; s++) {
            CHECK(aclrtSynchronizeStream(stream[s])); /* (1) also returns errors of queued copies */
            VERIFY(has_pattern(down[s], SIZE, round * STREAMS + (unsigned)s));
        }
    }
    printf("02_async_pinned: %d rounds on %d streams, all bytes correct\n", ROUNDS, STREAMS);

    for (int s = 0; s < STREAMS; s++) {
        CHECK(aclrtFreeHost(down[s])); /* does not wait: free only after the last wait */
        CHECK(aclrtFreeHost(up[s]));
        CHECK(aclrtFree(device[s]));
        CHECK(aclrtDestroyStream(stream[s]));
    }
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
