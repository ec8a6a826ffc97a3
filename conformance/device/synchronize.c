// soc: all
// schedules: all
// expects: C2
/* aclrtSynchronizeDevice waits for the streams of the current context and for no others. */
#include "../expect.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(10), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(2 * SIZE);
    uint8_t *device = (uint8_t *)device_memory(2 * SIZE);
    device_fill(device, 2 * SIZE, 1);

    /* It waits for all streams of the context, including the default stream. */
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemcpyAsync(pinned + SIZE, SIZE, device + SIZE, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_PATTERN(pinned, 2 * SIZE, 1);

    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(0), 107000); /* 4.2 */
    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(-2), 107000);
    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(INT32_MIN), 107000);
    EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(-1));
    EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(1000));

    gate_close(&gate, stream);
    gate_await(&gate);
    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(5), 507046); /* 4.2: timeout */
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");

    /* Another context on the device does not wait for the stream. */
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_OK(aclrtSynchronizeDevice());
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_TRUE(stream_is_busy(stream), "the stream is no longer blocked");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(-1));
    EXPECT_TRUE(!stream_is_busy(stream), "the stream is still busy");

    EXPECT_OK(aclrtDestroyContext(other));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
