// soc: Ascend910B Ascend910C Ascend950
// schedules: all
/* Correction 7: aclrtStreamStop ends the task that runs and keeps those that have not begun; aclrtStreamAbort drops them.
 * The default stream cannot be stopped. */
#include "../expect.h"

#define KEPT 5

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), recorder = new_stream(), by_default = NULL;
    aclrtNotify notify = NULL;
    aclrtEvent event = NULL;
    static int ran;
    int expected = 0;
    uint64_t *cell = (uint64_t *)device_memory(8);
    EXPECT_OK(aclrtMemset(cell, 8, 0, 8));
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));

    EXPECT_OK(aclrtStreamStop(stream)); /* nothing runs */
    EXPECT_FAILS(aclrtStreamStop(stale_stream()));
    EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&by_default));
    EXPECT_SOFTACL_CODE(aclrtStreamStop(by_default), 107000);

    /* The stream stands at a wait for a notify, a value, or an event that is never recorded. */
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 0) {
            EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
        } else if (kind == 1) {
            EXPECT_OK(aclrtValueWait(cell, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
        } else {
            EXPECT_OK(aclrtStreamWaitEvent(stream, event));
        }
        for (int i = 0; i < KEPT; i++) {
            EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
        }
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);
        EXPECT_TRUE(count_of(&ran) == expected, "kind %d did not block", kind);
        EXPECT_OK(aclrtStreamStop(stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        expected += KEPT;
        EXPECT_TRUE(count_of(&ran) == expected, "kind %d: %d tasks ran, not %d", kind, count_of(&ran), expected);
    }
    /* A stopped wait has consumed nothing: the next record is for the next wait. */
    EXPECT_OK(aclrtRecordNotify(notify, recorder));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeStream(recorder));

    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(recorder));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
