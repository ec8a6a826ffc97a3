// soc: all
// schedules: all
/* Client usage: thousands of asynchronous copies on one stream before the first wait. */
#include "../expect.h"

#define COPIES 10000
#define SIZE 64

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *source = (uint8_t *)pinned_memory((size_t)COPIES * SIZE);
    uint8_t *result = (uint8_t *)pinned_memory((size_t)COPIES * SIZE);
    uint8_t *device = (uint8_t *)device_memory((size_t)COPIES * SIZE);
    fill_pattern(source, (size_t)COPIES * SIZE, 1);
    size_t failed = 0;
    for (size_t i = 0; i < COPIES; i++) {
        size_t offset = i * SIZE;
        failed += aclrtMemcpyAsync(device + offset, SIZE, source + offset, SIZE, ACL_MEMCPY_HOST_TO_DEVICE,
                                   stream) != 0;
    }
    for (size_t i = COPIES; i-- > 0;) {
        size_t offset = i * SIZE;
        failed += aclrtMemcpyAsync(result + offset, SIZE, device + offset, SIZE, ACL_MEMCPY_DEVICE_TO_HOST,
                                   stream) != 0;
    }
    EXPECT_TRUE(failed == 0, "%zu calls failed", failed);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(result, (size_t)COPIES * SIZE, 1);
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
