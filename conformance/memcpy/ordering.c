// soc: all
// schedules: all
// expects: S2
/* aclrtMemcpy waits for no stream: it completes while streams are blocked and does not observe their queued copies. */
#include "../expect.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *before = (uint8_t *)pinned_memory(SIZE);
    uint8_t *after = pinned_memory(SIZE);
    uint8_t *result = pageable_memory(SIZE);
    void *device = device_memory(SIZE);
    fill_pattern(before, SIZE, 1);
    fill_pattern(after, SIZE, 2);

    /* 1.1: it synchronizes neither a created stream ... */
    gate_close(&gate, stream);
    REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, after, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpy(device, SIZE, before, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpy(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(result, SIZE, 1);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is no longer blocked");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);

    /* ... nor the default stream. */
    gate_close(&gate, NULL);
    REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, before, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    EXPECT_OK(aclrtMemcpy(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(result, SIZE, 2);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    free(result);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(before));
    EXPECT_OK(aclrtFreeHost(after));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
