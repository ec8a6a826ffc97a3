// soc: all
// schedules: all
/* An event before its first record: classic and Ex differ. */
#include "../expect.h"

static aclrtEvent classic, reusable;

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_OK(aclrtSynchronizeEvent(classic)); /* 4.5: no context needed, unrecorded is done */
    EXPECT_OK(aclrtSynchronizeEvent(reusable));
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtEvent sync_only = NULL, time_line = NULL;
    REQUIRE_OK(aclrtCreateEvent(&classic));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&reusable, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    REQUIRE_OK(aclrtCreateEventWithFlag(&sync_only, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventWithFlag(&time_line, ACL_EVENT_TIME_LINE));

    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_OK(aclrtQueryEventStatus(classic, &recorded)); /* 4.5: classic NOT_READY ... */
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY, "classic %d", (int)recorded);
    EXPECT_OK(aclrtQueryEventStatus(reusable, &recorded)); /* ... Ex COMPLETE */
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE, "Ex %d", (int)recorded);
    EXPECT_CODE(aclrtQueryEventStatus(classic, NULL), 100000);
    EXPECT_OK(aclrtSynchronizeEvent(classic));
    EXPECT_OK(aclrtSynchronizeEvent(reusable));
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(classic, 1));
    in_new_thread(without_context, NULL);

    EXPECT_CODE(aclrtStreamWaitEvent(stream, classic), 107000); /* 4.5: classic default */
    EXPECT_OK(aclrtStreamWaitEvent(stream, reusable));          /* 4.5: Ex, no wait */
    EXPECT_OK(aclrtSynchronizeStream(stream));

    /* 4.5: classic with SYNC waits for the record to come. */
    static int ran;
    EXPECT_OK(aclrtStreamWaitEvent(stream, sync_only));
    REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);
    EXPECT_TRUE(count_of(&ran) == 0, "it waits");
    EXPECT_OK(aclrtRecordEvent(sync_only, other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 1, "released");

    /* 4.5: no SYNC capability, no waiting. */
    EXPECT_OK(aclrtRecordEvent(time_line, stream));
    EXPECT_CODE(aclrtStreamWaitEvent(other, time_line), 207000);

    /* 4.5: calls that Ex events do not have. */
    aclrtEventStatus status;
    aclrtEventWaitStatus waited;
    EXPECT_OK(aclrtRecordEvent(reusable, stream));
    EXPECT_CODE(aclrtQueryEvent(reusable, &status), 207000);
    EXPECT_CODE(aclrtQueryEventWaitStatus(reusable, &waited), 207000);
    EXPECT_CODE(aclrtResetEvent(reusable, stream), 207000);

    /* Timing of what was never recorded. */
    float ms = 0;
    uint64_t stamp = 0;
    EXPECT_CODE(aclrtEventElapsedTime(&ms, classic, classic), 507000); /* 4.5 */
    EXPECT_FAILS(aclrtEventGetTimestamp(classic, &stamp));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclrtDestroyEvent(classic));
    EXPECT_OK(aclrtDestroyEvent(reusable));
    EXPECT_OK(aclrtDestroyEvent(sync_only));
    EXPECT_OK(aclrtDestroyEvent(time_line));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
