// soc: all
// expects: S2
/* Synchronize and query calls do not wait for PERSISTENT, CPU_SCHEDULE and DEVICE_USE_ONLY streams, even if they have
 * tasks (4.2, 4.4). */
#include "../expect.h"

#define SIZE 256

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    static const uint32_t flags[] = {ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE, ACL_STREAM_DEVICE_USE_ONLY};
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    aclrtStream ordinary = new_stream();
    fill_pattern(pinned, SIZE, 1);
    for (int i = 0; i < 3; i++) {
        aclrtStream stream = NULL;
        aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
        REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, 0, flags[i]));
        if (!on_softacl()) { /* what such a stream does with tasks is not documented */
            EXPECT_OK(aclrtSynchronizeStream(stream));
            EXPECT_OK(aclrtDestroyStream(stream));
            continue;
        }
        /* softacl runs the tasks as on any other stream, so that
         * their effects are visible; only waits skip the stream. */
        REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
        gate_close(&gate, stream);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream)); /* 4.4: returns immediately */
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 1));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 0), 107000);
        EXPECT_OK(aclrtStreamQuery(stream, &status));
        EXPECT_TRUE(status == ACL_STREAM_STATUS_COMPLETE, "4.4: expected complete, got %d", (int)status);
        EXPECT_OK(aclrtSynchronizeDevice()); /* 4.2: skipped */
        EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(1));
        EXPECT_DEVICE_VALUE(device, SIZE, 0);
        /* An event completes when the tasks have finished. */
        aclrtEvent event = NULL;
        REQUIRE_OK(aclrtCreateEvent(&event));
        EXPECT_OK(aclrtRecordEvent(event, stream));
        EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 1), 507047);
        EXPECT_OK(aclrtStreamWaitEvent(ordinary, event));
        EXPECT_TRUE(stream_is_busy(ordinary), "the ordinary stream does not wait for the event");
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclrtSynchronizeStream(ordinary));
        EXPECT_DEVICE_PATTERN(device, SIZE, 1);
        EXPECT_OK(aclrtDestroyEvent(event));
        EXPECT_OK(aclrtDestroyStream(stream));
    }
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(ordinary));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
