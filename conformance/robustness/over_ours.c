// softacl-only
// schedules: all
/* A 2D copy whose rows start in pageable memory and reach into pinned memory is refused, and no byte is written. */
#include "../expect.h"

#define ROW 64

static uint8_t buffer[4096]; /* lies below all memory mapped at run time */

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(4096), *pinned = (uint8_t *)pinned_memory(4096);
    REQUIRE_TRUE((uintptr_t)buffer < (uintptr_t)pinned, "%p is not below %p", (void *)buffer, (void *)pinned);
    size_t distance = (size_t)((uintptr_t)pinned - (uintptr_t)buffer);
    fill_pattern(pinned, 4096, 1);
    EXPECT_OK(aclrtMemset(device, 4096, 7, 4096));

    EXPECT_CODE(aclrtMemcpy2d(buffer, distance, device, ROW, ROW, 2, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
    EXPECT_CODE(aclrtMemcpy2d(buffer, distance / 16, device, ROW, ROW, 17, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
    EXPECT_FAILS(aclrtMemcpy2dAsync(buffer, distance, device, ROW, ROW, 2, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    /* A source that reaches into pinned memory is refused too. */
    EXPECT_CODE(aclrtMemcpy2d(device, ROW, buffer, distance, ROW, 2, ACL_MEMCPY_HOST_TO_DEVICE), 507899);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(pinned, 4096, 1);
    EXPECT_TRUE(buffer[0] == 0 && buffer[ROW - 1] == 0, "the first row was written: %d", buffer[0]);
    EXPECT_OK(aclrtMemcpy(buffer, ROW, device + ROW, ROW, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(buffer[0] == 7 && buffer[ROW - 1] == 7, "the device was written: %d", buffer[0]);

    /* Rows that stay below pinned memory are copied. */
    EXPECT_OK(aclrtMemcpy2d(buffer, 128, device, ROW, ROW, 32, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(buffer[31 * 128] == 7 && buffer[31 * 128 + ROW] == 0, "%d", buffer[31 * 128]);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
