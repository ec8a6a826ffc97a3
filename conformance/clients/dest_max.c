// soc: all
// schedules: all
// expects: M1
/* Client usage: an address passed as destMax. The only error about destMax is a count that exceeds it. */
#include "../expect.h"

#define SIZE 512

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    fill_pattern(pinned, SIZE, 1);
    size_t limits[] = {(size_t)(uintptr_t)device, (size_t)(uintptr_t)pinned, SIZE_MAX, SIZE, SIZE + 1};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
        EXPECT_OK(aclrtMemcpy(device, limits[i], pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
        EXPECT_DEVICE_PATTERN(device, SIZE, 1);
        REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
        EXPECT_OK(aclrtMemcpyAsync(device, limits[i], pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, SIZE, 1);
        EXPECT_OK(aclrtMemsetAsync(device, limits[i], 0, SIZE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }
    EXPECT_CODE(aclrtMemcpy(device, SIZE - 1, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
