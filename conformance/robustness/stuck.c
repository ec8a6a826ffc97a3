// softacl-only
// env: SOFTACL_MEMORY=256MiB
// schedules: all
// misuses: L3 M1
// valgrind: none (gives addresses away that nobody has)
/* One stream that does not move hurts nobody else: memory that its tasks do not name is reused at once, memory that they do
 * name is kept, and work that is dropped never blocks what was submitted after it. */
#include "../expect.h"

#define PIECE (64u << 20)

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static struct gate gate = GATE_INITIALIZER;
    aclrtStream stuck = new_stream(), other = new_stream();
    void *pinned = pinned_memory(4096);
    fill_pattern(pinned, 4096, 9);
    void *named = device_memory(4096);
    gate_close(&gate, stuck);
    EXPECT_OK(aclrtMemcpyAsync(named, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stuck));
    EXPECT_OK(aclrtFree(named));

    /* Many times the memory of the device. */
    for (int round = 0; round < 40; round++) {
        void *piece = NULL;
        EXPECT_OK(aclrtMalloc(&piece, PIECE, ACL_MEM_MALLOC_HUGE_FIRST));
        EXPECT_OK(aclrtFree(piece));
    }
    /* What the queued copy will write belongs to nobody yet. */
    void *guard[64];
    for (int i = 0; i < 64; i++) {
        guard[i] = device_memory(4096);
        device_fill(guard[i], 4096, (uint32_t)i);
    }
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stuck));
    for (int i = 0; i < 64; i++) {
        EXPECT_DEVICE_PATTERN(guard[i], 4096, (uint32_t)i);
        EXPECT_OK(aclrtFree(guard[i]));
    }

    /* Dropped tasks count as done, also when the stream has new work. */
    if (family_has_batches()) {
        aclrtEvent dropped, after;
        REQUIRE_OK(aclrtCreateEventExWithFlag(&dropped, ACL_EVENT_SYNC));
        REQUIRE_OK(aclrtCreateEventExWithFlag(&after, ACL_EVENT_SYNC));
        EXPECT_OK(aclrtRecordEvent(dropped, stuck));
        EXPECT_OK(aclrtSynchronizeEvent(dropped));
        gate_close(&gate, other);
        EXPECT_OK(aclrtRecordEvent(after, other));
        EXPECT_OK(aclrtStreamWaitEvent(stuck, after));
        EXPECT_OK(aclrtRecordEvent(dropped, stuck));
        EXPECT_OK(aclrtStreamAbort(stuck));
        EXPECT_OK(aclrtSynchronizeEventWithTimeout(dropped, 20000));
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stuck, 20000));
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(other));
        EXPECT_OK(aclrtDestroyEvent(dropped));
        EXPECT_OK(aclrtDestroyEvent(after));
    }

    /* A range that faults at once is refused at once, however long it claims to be. */
    EXPECT_CODE(aclrtMemcpy((void *)0x1000, (size_t)1 << 45, pinned, (size_t)1 << 45, ACL_MEMCPY_HOST_TO_HOST), 107000);
    void *pageable = pageable_memory(4096);
    EXPECT_CODE(aclrtMemcpy((void *)0x1000, (size_t)1 << 45, pageable, (size_t)1 << 45, ACL_MEMCPY_HOST_TO_HOST), 507899);
    free(pageable);

    EXPECT_OK(aclrtDestroyStream(stuck));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
