// soc: all
// misuses: S2
/* PERSISTENT, CPU_SCHEDULE and DEVICE_USE_ONLY streams are not waited for (4.2, 4.4), also with work in them. */
#include "../expect.h"

#define SIZE 256

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    static const uint32_t flags[] = {ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE, ACL_STREAM_DEVICE_USE_ONLY};
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    aclrtStream pageable = new_stream();
    fill_pattern(pinned, SIZE, 1);
    for (int i = 0; i < 3; i++) {
        aclrtStream stream = NULL;
        aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
        REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, 0, flags[i]));
        if (!on_softacl()) { /* what such a stream does with a task by itself is not documented */
            EXPECT_OK(aclrtSynchronizeStream(stream));
            EXPECT_OK(aclrtDestroyStream(stream));
            continue;
        }
        /* Decided: tasks run as in any stream, so that their effects can be seen; only nobody waits. */
        REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
        gate_close(&gate, stream);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream)); /* 4.4: at once */
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 1));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 0), 107000);
        EXPECT_OK(aclrtStreamQuery(stream, &status));
        EXPECT_TRUE(status == ACL_STREAM_STATUS_COMPLETE, "4.4: complete at once, not %d", (int)status);
        EXPECT_OK(aclrtSynchronizeDevice()); /* 4.2: skipped */
        EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(1));
        EXPECT_DEVICE_VALUE(device, SIZE, 0);
        /* An event shows when its tasks are done. */
        aclrtEvent event = NULL;
        REQUIRE_OK(aclrtCreateEvent(&event));
        EXPECT_OK(aclrtRecordEvent(event, stream));
        EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 1), 507047);
        EXPECT_OK(aclrtStreamWaitEvent(pageable, event));
        EXPECT_TRUE(stream_is_busy(pageable), "waits for it");
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclrtSynchronizeStream(pageable));
        EXPECT_DEVICE_PATTERN(device, SIZE, 1);
        EXPECT_OK(aclrtDestroyEvent(event));
        EXPECT_OK(aclrtDestroyStream(stream));
    }
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(pageable));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
