// expects: L2
// schedules: all
/* aclFinalize neither waits for tasks nor drops them (4.1): streams and memory stay valid and can be released later. */
#include "../expect.h"

#define SIZE (4u << 20)

int main(void)
{
    EXPECT_OK(aclInit(NULL));
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *pinned = pinned_memory(SIZE), *device = device_memory(SIZE);
    static int ran;
    fill_pattern(pinned, SIZE, 3);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_OK(aclFinalize());
    EXPECT_CODE(aclFinalize(), 100037);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 1, "%d", count_of(&ran));
    EXPECT_DEVICE_PATTERN(device, SIZE, 3);
    /* aclInit can be called again. */
    EXPECT_OK(aclInit(NULL));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
