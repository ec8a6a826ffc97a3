// soc: Ascend910B
// schedules: all
/* Two streams wait for each other. Waits with a timeout return, and aborting one stream resolves the deadlock. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream();
    aclrtEvent first_event, second_event;
    REQUIRE_OK(aclrtCreateEventWithFlag(&first_event, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventWithFlag(&second_event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, first_event));
    EXPECT_OK(aclrtRecordEvent(second_event, first));
    EXPECT_OK(aclrtStreamWaitEvent(second, second_event));
    EXPECT_OK(aclrtRecordEvent(first_event, second));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(first, 50), 507046);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(second, 50), 507046);
    for (int i = 0; i < 100; i++) {
        aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
        EXPECT_OK(aclrtStreamQuery(first, &status));
        EXPECT_TRUE(status == ACL_STREAM_STATUS_NOT_READY, "status %d", status);
    }
    EXPECT_OK(aclrtStreamAbort(first));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_OK(aclrtDestroyEvent(first_event));
    EXPECT_OK(aclrtDestroyEvent(second_event));
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtDestroyStream(second));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
