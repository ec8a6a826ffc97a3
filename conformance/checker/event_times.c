// soc: Ascend910B
/* Reading the time of an event shows that it was reached: the host may use data that was copied before it. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtEvent start = NULL, end = NULL;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&start, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC));
    uint8_t *host = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtRecordEvent(start, stream));
    EXPECT_OK(aclrtMemcpyAsync(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtRecordEvent(end, stream));
    float milliseconds = 0;
    while (aclrtEventElapsedTime(&milliseconds, start, end) != 0) {
    }
    EXPECT_VALUE(host, SIZE, 1);
    EXPECT_OK(aclrtMemset(device, SIZE, 2, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtRecordEvent(end, stream));
    uint64_t time = 0;
    while (aclrtEventGetTimestamp(end, &time) != 0) {
    }
    EXPECT_VALUE(host, SIZE, 2);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyEvent(start));
    EXPECT_OK(aclrtDestroyEvent(end));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
