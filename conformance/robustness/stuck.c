// softacl-only
// env: SOFTACL_MEMORY=256MiB
// schedules: all
// expects: L3 M1
// valgrind: none (passes invalid addresses)
/* A blocked stream does not affect other work: freed memory that its tasks do not use is reused immediately, freed
 * memory that they use is not, and dropped tasks never block later ones. */
#include "../expect.h"

#define PIECE (64u << 20)

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static struct gate gate = GATE_INITIALIZER;
    aclrtStream blocked = new_stream(), other = new_stream();
    void *pinned = pinned_memory(4096);
    fill_pattern(pinned, 4096, 9);
    void *in_use = device_memory(4096);
    gate_close(&gate, blocked);
    EXPECT_OK(aclrtMemcpyAsync(in_use, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, blocked));
    EXPECT_OK(aclrtFree(in_use));

    /* In total many times the memory of the device. */
    for (int round = 0; round < 40; round++) {
        void *piece = NULL;
        EXPECT_OK(aclrtMalloc(&piece, PIECE, ACL_MEM_MALLOC_HUGE_FIRST));
        EXPECT_OK(aclrtFree(piece));
    }
    /* The memory that the queued copy will write has not been reused. */
    void *guard[64];
    for (int i = 0; i < 64; i++) {
        guard[i] = device_memory(4096);
        device_fill(guard[i], 4096, (uint32_t)i);
    }
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(blocked));
    for (int i = 0; i < 64; i++) {
        EXPECT_DEVICE_PATTERN(guard[i], 4096, (uint32_t)i);
        EXPECT_OK(aclrtFree(guard[i]));
    }

    /* Dropped tasks count as finished, also after new tasks are queued. */
    if (family_has_batches()) {
        aclrtEvent dropped, after;
        REQUIRE_OK(aclrtCreateEventExWithFlag(&dropped, ACL_EVENT_SYNC));
        REQUIRE_OK(aclrtCreateEventExWithFlag(&after, ACL_EVENT_SYNC));
        EXPECT_OK(aclrtRecordEvent(dropped, blocked));
        EXPECT_OK(aclrtSynchronizeEvent(dropped));
        gate_close(&gate, other);
        EXPECT_OK(aclrtRecordEvent(after, other));
        EXPECT_OK(aclrtStreamWaitEvent(blocked, after));
        EXPECT_OK(aclrtRecordEvent(dropped, blocked));
        EXPECT_OK(aclrtStreamAbort(blocked));
        EXPECT_OK(aclrtSynchronizeEventWithTimeout(dropped, 20000));
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(blocked, 20000));
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(other));
        EXPECT_OK(aclrtDestroyEvent(dropped));
        EXPECT_OK(aclrtDestroyEvent(after));
    }

    /* A range whose first byte is inaccessible is refused immediately, whatever its length. */
    EXPECT_CODE(aclrtMemcpy((void *)0x1000, (size_t)1 << 45, pinned, (size_t)1 << 45, ACL_MEMCPY_HOST_TO_HOST), 107000);
    void *pageable = pageable_memory(4096);
    EXPECT_CODE(aclrtMemcpy((void *)0x1000, (size_t)1 << 45, pageable, (size_t)1 << 45, ACL_MEMCPY_HOST_TO_HOST),
                507899);
    free(pageable);

    EXPECT_OK(aclrtDestroyStream(blocked));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
