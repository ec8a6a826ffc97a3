// soc: all
// schedules: all
// expects: H3 S2
/* aclrtMemcpyAsync with pinned and device memory only queues the
 * copy, which a blocked stream shows. Copies run in stream order. */
#include "../expect.h"

#define SIZE 8192

typedef aclError (*copy_call)(void *, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream);

static struct gate gate = GATE_INITIALIZER;

static void check_queued(copy_call copy, aclrtStream stream)
{
    uint8_t *source = (uint8_t *)pinned_memory(SIZE);
    uint8_t *result = (uint8_t *)pinned_memory(SIZE);
    uint8_t *first = (uint8_t *)device_memory(SIZE);
    uint8_t *second = (uint8_t *)device_memory(SIZE);
    fill_pattern(source, SIZE, 3);

    gate_close(&gate, stream);
    EXPECT_OK(copy(first, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(copy(second, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(copy(result, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    /* The source is read when the task runs, so this change takes effect. */
    fill_pattern(source, SIZE, 4);
    gate_await(&gate);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");
    EXPECT_DEVICE_VALUE(first, SIZE, 0);
    EXPECT_DEVICE_VALUE(second, SIZE, 0);
    EXPECT_VALUE(result, SIZE, 0);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(!stream_is_busy(stream), "the stream is still busy");
    EXPECT_PATTERN(result, SIZE, 4);
    EXPECT_DEVICE_PATTERN(first, SIZE, 4);

    /* Wrong kinds between device and pinned memory are corrected and stay asynchronous. */
    memset(result, 0, SIZE);
    fill_pattern(source, SIZE, 5);
    gate_close(&gate, stream);
    EXPECT_OK(copy(first, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(copy(result, SIZE, first, SIZE, ACL_MEMCPY_HOST_TO_HOST, stream));
    EXPECT_VALUE(result, SIZE, 0);
    EXPECT_DEVICE_PATTERN(first, SIZE, 4);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(result, SIZE, 5);

    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    check_queued(aclrtMemcpyAsync, stream);
    check_queued(aclrtMemcpyAsync, NULL);
    check_queued(aclrtMemcpyAsyncWithCondition, stream);

    /* The default stream and other streams do not wait for each other. */
    uint8_t *source = (uint8_t *)pinned_memory(SIZE);
    void *device = device_memory(SIZE);
    fill_pattern(source, SIZE, 6);
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_DEVICE_PATTERN(device, SIZE, 6);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    fill_pattern(source, SIZE, 7);
    gate_close(&gate, NULL);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 7);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(NULL));

    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
