// soc: all
// schedules: all
// misuses: S2
/* Kind 5, host to buffer to device: the source is taken during the call, the copy itself stays asynchronous. */
#include "../expect.h"

#define SIZE 10000

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *one = (uint8_t *)device_memory(SIZE);
    uint8_t *two = (uint8_t *)device_memory(SIZE);

    gate_close(&gate, stream);
    fill_pattern(pageable, SIZE, 1);
    EXPECT_OK(aclrtMemcpyAsync(one, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    memset(pageable, 0x11, SIZE);
    free(pageable); /* at once, although the copy has not run */
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(two, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    memset(pinned, 0x22, SIZE);
    EXPECT_TRUE(stream_is_busy(stream), "asynchronous, even from pageable memory");
    EXPECT_DEVICE_VALUE(one, SIZE, 0);
    EXPECT_DEVICE_VALUE(two, SIZE, 0);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(one, SIZE, 1);
    EXPECT_DEVICE_PATTERN(two, SIZE, 2);

    /* The actual source must not be device memory, the actual destination must be. */
    uint8_t target[64];
    EXPECT_CODE(aclrtMemcpyAsync(one, SIZE, two, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pinned, SIZE, two, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(target, 64, pinned, 64, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(target, 64, one, 64, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);

    /* Many of them, each with its own contents, on one stack variable. */
    for (uint32_t i = 0; i < 100; i++) {
        EXPECT_OK(aclrtMemcpyAsync(one + 4 * i, 4, &i, 4, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    uint8_t *bytes = device_bytes(one, 400);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t value;
        memcpy(&value, bytes + 4 * i, 4);
        EXPECT_TRUE(value == i, "cell %u holds %u", i, value);
    }
    free(bytes);

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(one));
    EXPECT_OK(aclrtFree(two));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
