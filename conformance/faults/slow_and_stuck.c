// softacl-only
// soc: Ascend910B Ascend310P
// env: SOFTACL_FAULTS=copy@1=slow 60ms; copy@3=stuck; copy@5=stuck; copy@7=stuck; copy@9=stuck
// schedules: all
// expects: L1 S1
/* Tasks that are slow or never start: waits with a timeout return,
 * and aborting, destroying or resetting drops the stuck tasks. */
#include "../expect.h"

#define SIZE 256

static uint8_t *pinned, *device;

static void copy(aclrtStream stream)
{
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEvent(&event));

    /* Slow: the wait takes longer and succeeds. */
    fill_pattern(pinned, SIZE, 1);
    copy(stream); /* 1 */
    EXPECT_TRUE(stream_is_busy(stream), "the slow copy has already run");
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* Stuck: waits with a timeout return (4.4, 4.5), the stream stays busy, other streams make progress. */
    copy(other); /* 2 */
    copy(stream); /* 3 */
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 20), 507047);
    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(20), 507046);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not stuck");
    EXPECT_OK(aclrtSynchronizeStream(other));

    if (family_has_batches()) {
        EXPECT_OK(aclrtStreamAbort(stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        copy(stream); /* 4 */
        EXPECT_OK(aclrtSynchronizeStream(stream));
        copy(stream); /* 5 */
        EXPECT_OK(aclrtStreamStop(stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        copy(stream); /* 6 */
        EXPECT_OK(aclrtSynchronizeStream(stream));
        copy(stream); /* 7 */
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
        EXPECT_OK(aclrtDeviceTaskAbort(0, 1000));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        copy(stream); /* 8 */
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, SIZE, 1);
        copy(stream); /* 9 */
    }
    /* A forced destruction of the stream does not wait. */
    EXPECT_OK(aclrtDestroyStreamForce(stream));
    if (!family_has_batches()) {
        stream = new_stream();
        copy(stream); /* 4 */
        EXPECT_OK(aclrtSynchronizeStream(stream));
        copy(stream); /* 5 */
    }
    /* A reset does not wait for stuck tasks. */
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
