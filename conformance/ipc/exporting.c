// soc: Ascend910B Ascend310P
/* Exporting memory that queued copies write loses no bytes and does not wait for the copies. */
#include "../expect.h"

#define SIZE ((size_t)32 << 20)
#define ROUNDS 8

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    size_t step = iterations(256) == 256 ? SIZE / 256 : SIZE / 16;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint8_t *device = (uint8_t *)shareable_memory(SIZE);
        fill_pattern(pinned, SIZE, round);
        for (size_t offset = 0; offset < SIZE; offset += step) {
            EXPECT_OK(aclrtMemcpyAsync(device + offset, step, pinned + offset, step, ACL_MEMCPY_HOST_TO_DEVICE,
                                       stream));
        }
        char key[65];
        EXPECT_OK(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key, 1));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, SIZE, round);
        EXPECT_OK(aclrtIpcMemClose(key));
        EXPECT_OK(aclrtFree(device));
    }

    /* A blocked stream does not delay the export. */
    static struct gate gate = GATE_INITIALIZER;
    uint8_t *device = (uint8_t *)shareable_memory(SIZE);
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    char key[65];
    EXPECT_OK(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key, 1));
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, ROUNDS - 1);
    EXPECT_OK(aclrtFree(device)); /* also invalidates the key */
    EXPECT_FAILS(aclrtIpcMemClose(key));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
