// soc: all
// schedules: all
// expects: C1
/* A stream of another context is refused for queued copies and accepted for pageable ones. */
#include "../expect.h"

#define SIZE 512

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext primary = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint8_t *second = (uint8_t *)device_memory(SIZE);

    aclrtContext other = NULL;
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    aclrtStream foreign = new_stream();
    REQUIRE_OK(aclrtSetCurrentContext(primary));

    /* 1.2 row 13b */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, foreign), 107003);
    EXPECT_CODE(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, foreign), 107003);
    EXPECT_CODE(aclrtMemcpyAsync(second, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, foreign), 107003);
    EXPECT_CODE(aclrtMemcpyAsyncWithCondition(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, foreign), 107003);
    /* row 9 before 13b */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, foreign), 107000);
    /* row 11 before 13b */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, foreign));

    /* 4.7: copies with pageable memory succeed. */
    fill_pattern(pageable, SIZE, 1);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, foreign));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* With its own context current, the stream copies memory that was allocated under another context. */
    REQUIRE_OK(aclrtSetCurrentContext(other));
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, foreign));
    EXPECT_OK(aclrtSynchronizeStream(foreign));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    EXPECT_OK(aclrtDestroyStream(foreign));
    EXPECT_OK(aclrtDestroyContext(other));

    REQUIRE_OK(aclrtSetCurrentContext(primary));
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(second));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
