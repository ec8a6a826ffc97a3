// softacl-only
// schedules: all
/* Memory of the program that is said to reach as far as pinned memory: rows that would land there are refused, and nothing
   is written. */
#include "../expect.h"

#define ROW 64

static uint8_t own[4096]; /* lies below everything that is mapped at run time */

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(4096), *pinned = (uint8_t *)pinned_memory(4096);
    REQUIRE_TRUE((uintptr_t)own < (uintptr_t)pinned, "%p is not below %p", (void *)own, (void *)pinned);
    size_t distance = (size_t)((uintptr_t)pinned - (uintptr_t)own);
    fill_pattern(pinned, 4096, 1);
    EXPECT_OK(aclrtMemset(device, 4096, 7, 4096));

    EXPECT_CODE(aclrtMemcpy2d(own, distance, device, ROW, ROW, 2, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
    EXPECT_CODE(aclrtMemcpy2d(own, distance / 16, device, ROW, ROW, 17, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
    EXPECT_FAILS(aclrtMemcpy2dAsync(own, distance, device, ROW, ROW, 2, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    /* Nor is it read. */
    EXPECT_CODE(aclrtMemcpy2d(device, ROW, own, distance, ROW, 2, ACL_MEMCPY_HOST_TO_DEVICE), 507899);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(pinned, 4096, 1);
    EXPECT_TRUE(own[0] == 0 && own[ROW - 1] == 0, "the first row was written: %d", own[0]);
    EXPECT_OK(aclrtMemcpy(own, ROW, device + ROW, ROW, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(own[0] == 7 && own[ROW - 1] == 7, "the device was written: %d", own[0]);

    /* What stays below is the program's own. */
    EXPECT_OK(aclrtMemcpy2d(own, 128, device, ROW, ROW, 32, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(own[31 * 128] == 7 && own[31 * 128 + ROW] == 0, "%d", own[31 * 128]);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
