// soc: Ascend910B
// sanitize: address (the library orders the function and the host; the thread sanitizer does not see into it)
/* A host function may change the sources of copies before and after it, also across streams that an event orders. */
#include "../expect.h"

#define PAGE 4096

static void increment_byte(void *byte)
{
    ++*(uint8_t *)byte;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtEvent event;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    uint8_t *host = (uint8_t *)pinned_memory(PAGE), *device = (uint8_t *)device_memory(3 * PAGE);
    memset(host, 1, PAGE);
    EXPECT_OK(aclrtMemcpyAsync(device, PAGE, host, PAGE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtLaunchHostFunc(stream, increment_byte, host + 7));
    EXPECT_OK(aclrtMemcpyAsync(device + PAGE, PAGE, host, PAGE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtStreamWaitEvent(other, event));
    EXPECT_OK(aclrtLaunchHostFunc(other, increment_byte, host + 7));
    EXPECT_OK(aclrtMemcpyAsync(device + 2 * PAGE, PAGE, host, PAGE, ACL_MEMCPY_HOST_TO_DEVICE, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(aclrtMemcpy(host, PAGE, device + i * PAGE, PAGE, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_TRUE(host[7] == 1 + i && host[8] == 1, "copy %d wrote %d and %d", i, host[7], host[8]);
    }
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
