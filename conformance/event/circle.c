// soc: Ascend910B
// schedules: all
/* Two streams wait for each other in a circle. A wait with a time ends with it, and an abort ends the circle. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream();
    aclrtEvent one, other;
    REQUIRE_OK(aclrtCreateEventWithFlag(&one, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventWithFlag(&other, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, one));
    EXPECT_OK(aclrtRecordEvent(other, first));
    EXPECT_OK(aclrtStreamWaitEvent(second, other));
    EXPECT_OK(aclrtRecordEvent(one, second));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(first, 50), 507046);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(second, 50), 507046);
    for (int i = 0; i < 100; i++) {
        aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
        EXPECT_OK(aclrtStreamQuery(first, &status));
        EXPECT_TRUE(status == ACL_STREAM_STATUS_NOT_READY, "the status is %d", status);
    }
    EXPECT_OK(aclrtStreamAbort(first));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_OK(aclrtDestroyEvent(one));
    EXPECT_OK(aclrtDestroyEvent(other));
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtDestroyStream(second));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
