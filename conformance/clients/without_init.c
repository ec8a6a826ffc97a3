// soc: all
// schedules: all
/* Client usage: device calls before or without aclInit, and repeated aclInit. */
#include "../expect.h"

#define SIZE 1024

int main(void)
{
    uint32_t devices = 0;
    EXPECT_OK(aclrtGetDeviceCount(&devices));
    EXPECT_TRUE(devices > 0, "%u devices", devices);
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(SIZE);
    device_fill(device, SIZE, 1);
    aclrtStream stream = new_stream();
    EXPECT_OK(aclrtMemsetAsync(device, 10, 7, 10, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, 10, 7);

    /* A late and repeated aclInit does not affect existing objects. */
    EXPECT_OK(aclInit(NULL));
    EXPECT_CODE(aclInit(NULL), 100002);
    EXPECT_CODE(aclInit(NULL), 100002);
    EXPECT_DEVICE_VALUE(device, 10, 7);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 8, SIZE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, SIZE, 8);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
