// soc: Ascend910B Ascend910C Ascend950 Ascend310B
// schedules: all
// expects: S2
/* A descriptor is read when the task runs: changes made while the stream is blocked take effect. */
#include "../expect.h"

#define SIZE 777
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(INNER, &size));
    uint8_t *descriptor = (uint8_t *)device_memory(size);
    uint8_t *source = (uint8_t *)device_memory(SIZE);
    uint8_t *other = (uint8_t *)device_memory(SIZE);
    uint8_t *first = (uint8_t *)device_memory(SIZE);
    uint8_t *second = (uint8_t *)device_memory(SIZE);
    device_fill(source, SIZE, 1);
    device_fill(other, SIZE, 2);

    /* The copy is asynchronous, and the data is read when the task runs. */
    REQUIRE_OK(aclrtSetMemcpyDesc(descriptor, INNER, source, first, SIZE, NULL));
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    gate_await(&gate);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");
    EXPECT_DEVICE_VALUE(first, SIZE, 0);
    /* aclrtSetMemcpyDesc is synchronous, so the new addresses are in place before the gate opens. */
    EXPECT_OK(aclrtSetMemcpyDesc(descriptor, INNER, other, second, SIZE - 100, NULL));
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(first, SIZE, 0);
    EXPECT_DEVICE_PATTERN(second, SIZE - 100, 2);
    EXPECT_DEVICE_VALUE(second + SIZE - 100, 100, 0);

    /* A copy queued before the launch may also rewrite the descriptor. */
    uint8_t *image = (uint8_t *)pinned_memory(size);
    REQUIRE_OK(aclrtSetMemcpyDesc(descriptor, INNER, source, first, SIZE, NULL));
    REQUIRE_OK(aclrtMemcpy(image, size, descriptor, size, ACL_MEMCPY_DEVICE_TO_HOST));
    REQUIRE_OK(aclrtSetMemcpyDesc(descriptor, INNER, other, second, SIZE, NULL));
    EXPECT_OK(aclrtMemcpyAsync(descriptor, size, image, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(first, SIZE, 1);
    EXPECT_DEVICE_VALUE(second + SIZE - 100, 100, 0);

    /* One descriptor, launched many times on two streams. */
    aclrtStream second_stream = new_stream();
    for (uint32_t round = 10; round < 40; round++) {
        device_fill(source, SIZE, round);
        EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, round % 2 == 0 ? stream : second_stream));
        EXPECT_OK(aclrtSynchronizeStream(round % 2 == 0 ? stream : second_stream));
        EXPECT_DEVICE_PATTERN(first, SIZE, round);
    }

    EXPECT_OK(aclrtFreeHost(image));
    EXPECT_OK(aclrtFree(descriptor));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
    EXPECT_OK(aclrtDestroyStream(second_stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
