// soc: Ascend910B Ascend310P
// schedules: all
/* A wait for an event that has happened already still orders: whoever waits for the waiting stream has
   waited for what the event stands for. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream writer = new_stream(), reader = new_stream();
    aclrtEvent written;
    REQUIRE_OK(aclrtCreateEventWithFlag(&written, ACL_EVENT_SYNC));
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint8_t host[SIZE];

    for (int round = 1; round <= 3; round++) {
        EXPECT_OK(aclrtMemsetAsync(device, SIZE, round, SIZE, writer));
        EXPECT_OK(aclrtRecordEvent(written, writer));
        EXPECT_OK(aclrtStreamWaitEvent(reader, written));
        /* nothing else is queued on the reading stream */
        EXPECT_OK(aclrtSynchronizeStream(reader));
        memset(host, 0, SIZE);
        EXPECT_OK(aclrtMemcpy(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_TRUE(host[0] == round && host[SIZE - 1] == round, "the bytes of this round");
    }
    EXPECT_OK(aclrtSynchronizeStream(writer));
    EXPECT_OK(aclrtDestroyEvent(written));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(writer));
    EXPECT_OK(aclrtDestroyStream(reader));
    REQUIRE_OK(aclrtResetDevice(0));
    return conclude();
}
