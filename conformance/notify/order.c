// soc: Ascend910B Ascend310P Ascend910A
// schedules: all
// expects: H3
/* A notify orders two streams, and each record resolves one wait. */
#include "../expect.h"

#define SIZE 4096
#define ROUNDS 32

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream producer = new_stream(), consumer = new_stream();
    uint8_t *source = (uint8_t *)pinned_memory(SIZE * ROUNDS), *result = (uint8_t *)pinned_memory(SIZE * ROUNDS);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    aclrtNotify full, empty;
    REQUIRE_OK(aclrtCreateNotify(&full, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateNotify(&empty, ACL_NOTIFY_DEFAULT));

    /* A wait for a record that the producer has not reached yet. */
    fill_pattern(source, SIZE, 7);
    gate_close(&gate, producer);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    EXPECT_OK(aclrtRecordNotify(full, producer));
    EXPECT_OK(aclrtWaitAndResetNotify(full, consumer, 0));
    EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    gate_await(&gate);
    EXPECT_TRUE(stream_is_busy(consumer), "the consumer does not wait");
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(consumer, 5), 507046);
    EXPECT_VALUE(result, SIZE, 0);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(consumer));
    EXPECT_PATTERN(result, SIZE, 7);
    EXPECT_OK(aclrtSynchronizeStream(producer));

    /* The wait has consumed the record. */
    EXPECT_OK(aclrtWaitAndResetNotify(full, consumer, 0));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(consumer, 5), 507046);
    EXPECT_OK(aclrtRecordNotify(full, producer));
    EXPECT_OK(aclrtSynchronizeStream(consumer));
    EXPECT_OK(aclrtSynchronizeStream(producer));

    /* A record before the wait is kept for it. */
    EXPECT_OK(aclrtRecordNotify(full, producer));
    EXPECT_OK(aclrtSynchronizeStream(producer));
    EXPECT_OK(aclrtWaitAndResetNotify(full, consumer, 0));
    EXPECT_OK(aclrtSynchronizeStream(consumer));

    /* Two notifies pass a buffer back and forth. */
    EXPECT_OK(aclrtRecordNotify(empty, NULL));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        fill_pattern(source + SIZE * i, SIZE, i);
        EXPECT_OK(aclrtWaitAndResetNotify(empty, producer, 0));
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source + SIZE * i, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        EXPECT_OK(aclrtRecordNotify(full, producer));
        EXPECT_OK(aclrtWaitAndResetNotify(full, consumer, 0));
        EXPECT_OK(aclrtMemcpyAsync(result + SIZE * i, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        EXPECT_OK(aclrtRecordNotify(empty, consumer));
    }
    /* Destroying the notifies does not affect queued tasks. */
    EXPECT_OK(aclrtDestroyNotify(full));
    EXPECT_OK(aclrtDestroyNotify(empty));
    EXPECT_OK(aclrtSynchronizeStream(consumer));
    EXPECT_OK(aclrtSynchronizeStream(producer));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EXPECT_PATTERN(result + SIZE * i, SIZE, i);
    }
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(producer));
    EXPECT_OK(aclrtDestroyStream(consumer));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
