// soc: all
// schedules: all
// expects: S2
/* ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE (kind 5) reads the source
 * during the call; the copy to the device is asynchronous. */
#include "../expect.h"

#define SIZE 10000

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *first = (uint8_t *)device_memory(SIZE);
    uint8_t *second = (uint8_t *)device_memory(SIZE);

    gate_close(&gate, stream);
    fill_pattern(pageable, SIZE, 1);
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    memset(pageable, 0x11, SIZE);
    free(pageable); /* allowed although the copy has not run */
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(second, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    memset(pinned, 0x22, SIZE);
    EXPECT_TRUE(stream_is_busy(stream), "not asynchronous");
    EXPECT_DEVICE_VALUE(first, SIZE, 0);
    EXPECT_DEVICE_VALUE(second, SIZE, 0);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(first, SIZE, 1);
    EXPECT_DEVICE_PATTERN(second, SIZE, 2);

    /* The source must be host memory and the destination device memory. */
    uint8_t target[64];
    EXPECT_CODE(aclrtMemcpyAsync(first, SIZE, second, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pinned, SIZE, second, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(target, 64, pinned, 64, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(target, 64, first, 64, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);

    /* Many copies of one stack variable, each with another value. */
    for (uint32_t i = 0; i < 100; i++) {
        EXPECT_OK(aclrtMemcpyAsync(first + 4 * i, 4, &i, 4, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    uint8_t *bytes = device_bytes(first, 400);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t value;
        memcpy(&value, bytes + 4 * i, 4);
        EXPECT_TRUE(value == i, "cell %u holds %u", i, value);
    }
    free(bytes);

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
