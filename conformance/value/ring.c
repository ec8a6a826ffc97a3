// soc: Ascend910B
// schedules: all
// expects: L1
/* Two streams pass a buffer back and forth through two values; all rounds
 * are queued before the host waits. Then many streams wait for one value. */
#include "../expect.h"

#define SIZE 1024
#define ROUNDS 64
#define WAITERS 8

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream producer = new_stream(), consumer = new_stream();
    uint64_t *cells = (uint64_t *)device_memory(16);
    uint64_t *full = cells, *empty = cells + 1;
    uint8_t *buffer = (uint8_t *)device_memory(SIZE);
    uint8_t *source = (uint8_t *)pinned_memory(SIZE * ROUNDS), *result = (uint8_t *)pinned_memory(SIZE * ROUNDS);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        fill_pattern(source + SIZE * i, SIZE, i);
    }
    for (uint64_t i = 0; i < ROUNDS; i++) {
        EXPECT_OK(aclrtValueWait(empty, i, ACL_STREAM_WAIT_VALUE_GEQ, producer));
        EXPECT_OK(aclrtMemcpyAsync(buffer, SIZE, source + SIZE * i, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        EXPECT_OK(aclrtValueWrite(full, i + 1, 0, producer));
        EXPECT_OK(aclrtValueWait(full, i + 1, ACL_STREAM_WAIT_VALUE_GEQ, consumer));
        EXPECT_OK(aclrtMemcpyAsync(result + SIZE * i, SIZE, buffer, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        EXPECT_OK(aclrtValueWrite(empty, i + 1, 0, consumer));
    }
    EXPECT_OK(aclrtSynchronizeStream(consumer));
    EXPECT_OK(aclrtSynchronizeStream(producer));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EXPECT_PATTERN(result + SIZE * i, SIZE, i);
    }

    aclrtStream waiters[WAITERS];
    static int ran;
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = new_stream();
        EXPECT_OK(aclrtValueWait(full, 1000, ACL_STREAM_WAIT_VALUE_EQ, waiters[i]));
        EXPECT_OK(aclrtLaunchHostFunc(waiters[i], count_up, &ran));
    }
    EXPECT_TRUE(stream_is_busy(waiters[0]) && stream_is_busy(waiters[WAITERS - 1]), "a stream passed before the write");
    EXPECT_OK(aclrtValueWrite(full, 1000, 0, producer));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_TRUE(count_of(&ran) == WAITERS, "%d of %d have passed", count_of(&ran), WAITERS);

    /* A forced destruction ends a pending wait. */
    EXPECT_OK(aclrtValueWait(full, 0, ACL_STREAM_WAIT_VALUE_EQ, waiters[0]));
    EXPECT_OK(aclrtDestroyStreamForce(waiters[0]));
    for (int i = 1; i < WAITERS; i++) {
        EXPECT_OK(aclrtDestroyStream(waiters[i]));
    }
    EXPECT_OK(aclrtFree(cells));
    EXPECT_OK(aclrtFree(buffer));
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(producer));
    EXPECT_OK(aclrtDestroyStream(consumer));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
