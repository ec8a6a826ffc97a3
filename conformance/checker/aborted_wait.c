// soc: Ascend910B
// softacl-only
// must-find: H3
/* Aborting a stream that waits for another stream establishes no order with that other stream. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), waiter = new_stream();
    aclrtEvent event;
    REQUIRE_OK(aclrtCreateEvent(&event));
    volatile uint8_t *host = (volatile uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtMemcpyAsync((void *)host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtStreamWaitEvent(waiter, event));
    EXPECT_OK(aclrtStreamAbort(waiter));
    (void)host[5]; /* H3 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeStream(waiter));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost((void *)host));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(waiter));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
