// soc: Ascend910B
// schedules: all
// env: SOFTACL_FAULTS=copy@2=stuck
// softacl-only
/* aclrtStreamStop ends a stuck copy, which then has no effect, and keeps the tasks after it (correction 7). */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(3 * SIZE), *device = (uint8_t *)device_memory(3 * SIZE);
    fill_pattern(pinned, 3 * SIZE, 1);
    EXPECT_OK(aclrtMemset(device, 3 * SIZE, 0, 3 * SIZE));
    for (size_t i = 0; i < 3; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device + i * SIZE, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    EXPECT_OK(aclrtStreamStop(stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_DEVICE_VALUE(device + SIZE, SIZE, 0);
    EXPECT_DEVICE_PATTERN(device + 2 * SIZE, SIZE, 1);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
