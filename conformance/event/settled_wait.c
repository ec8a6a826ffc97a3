// soc: Ascend910B Ascend310P
// schedules: all
/* A wait for an event that has already completed still orders:
 * synchronizing the waiting stream covers the tasks before the record. */
#include "../expect.h"

#define SIZE 4096

static void check_order(aclrtEvent written)
{
    aclrtStream writer = new_stream(), reader = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint8_t host[SIZE];

    for (int round = 1; round <= 3; round++) {
        EXPECT_OK(aclrtMemsetAsync(device, SIZE, round, SIZE, writer));
        EXPECT_OK(aclrtRecordEvent(written, writer));
        EXPECT_OK(aclrtStreamWaitEvent(reader, written));
        /* The wait is the only task of the reading stream. */
        EXPECT_OK(aclrtSynchronizeStream(reader));
        memset(host, 0, SIZE);
        EXPECT_OK(aclrtMemcpy(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_TRUE(host[0] == round && host[SIZE - 1] == round, "not the bytes of this round");
    }
    EXPECT_OK(aclrtSynchronizeStream(writer));
    EXPECT_OK(aclrtDestroyEvent(written));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(writer));
    EXPECT_OK(aclrtDestroyStream(reader));
}

int main(void)
{
    aclrtEvent ordinary, shared;
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtCreateEventWithFlag(&ordinary, ACL_EVENT_SYNC));
    check_order(ordinary);
    /* An event that other processes can open; PyTorch uses these for copies between devices. */
    if (aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC) == ACL_SUCCESS)
        check_order(shared);
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
