// soc: all
// schedules: all
// expects: S2
/* aclrtMemsetAsync sets device memory in stream order and host memory during the call. */
#include "../expect.h"

#define SIZE 5000

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);

    /* The value is truncated to eight bits; exactly `count` bytes are written, at any alignment. */
    static const int32_t values[] = {0, 1, 255, 256 + 0x5A, -1, INT32_MIN + 7, 0x12345678};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint8_t byte = (uint8_t)values[i];
        size_t count = 1 + i * 701 % 4000, offset = i * 13;
        uint8_t *memories[] = {device, pinned, pageable};
        for (int p = 0; p < 3; p++) {
            for (int asynchronous = 0; asynchronous < 2; asynchronous++) {
                REQUIRE_OK(aclrtMemset(memories[p], SIZE, ~byte, SIZE));
                EXPECT_OK(asynchronous ? aclrtMemsetAsync(memories[p] + offset, count, values[i], count, stream)
                                       : aclrtMemset(memories[p] + offset, SIZE - offset, values[i], count));
                EXPECT_OK(aclrtSynchronizeStream(stream));
                uint8_t *bytes = (uint8_t *)pageable_memory(SIZE);
                REQUIRE_OK(aclrtMemcpy(bytes, SIZE, memories[p], SIZE, ACL_MEMCPY_DEFAULT));
                EXPECT_VALUE(bytes, offset, (uint8_t)~byte);
                EXPECT_VALUE(bytes + offset, count, byte);
                EXPECT_VALUE(bytes + offset + count, SIZE - offset - count, (uint8_t)~byte);
                free(bytes);
            }
        }
    }

    /* Device memory is set in stream order ... */
    memset(pinned, 0, SIZE);
    memset(pageable, 0, SIZE);
    REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0x11, SIZE, stream));
    gate_await(&gate);
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    /* ... host memory during the call, ... */
    EXPECT_OK(aclrtMemsetAsync(pinned, SIZE, 0x22, SIZE, stream));
    EXPECT_VALUE(pinned, SIZE, 0x22);
    EXPECT_OK(aclrtMemsetAsync(pageable, SIZE, 0x33, SIZE, stream));
    EXPECT_VALUE(pageable, SIZE, 0x33);
    /* ... and the blocking call waits for no stream. */
    EXPECT_OK(aclrtMemset(device, SIZE, 0x44, SIZE));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x44);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is no longer blocked");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x11);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0x55, SIZE, NULL));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x55);

    free(pageable);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
