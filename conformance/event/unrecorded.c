// soc: all
// schedules: all
/* An event before its first record: classic and Ex events behave differently. */
#include "../expect.h"

static aclrtEvent classic, reusable;

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_OK(aclrtSynchronizeEvent(classic)); /* 4.5: needs no context and does not wait */
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
    EXPECT_OK(aclrtQueryEventStatus(classic, &recorded)); /* 4.5: a classic event is NOT_READY ... */
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY, "classic %d", (int)recorded);
    EXPECT_OK(aclrtQueryEventStatus(reusable, &recorded)); /* ... an Ex event is COMPLETE */
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE, "Ex %d", (int)recorded);
    EXPECT_CODE(aclrtQueryEventStatus(classic, NULL), 100000);
    EXPECT_OK(aclrtSynchronizeEvent(classic));
    EXPECT_OK(aclrtSynchronizeEvent(reusable));
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(classic, 1));
    in_new_thread(without_context, NULL);

    EXPECT_CODE(aclrtStreamWaitEvent(stream, classic), 107000); /* 4.5: refused for a classic event */
    EXPECT_OK(aclrtStreamWaitEvent(stream, reusable));          /* 4.5: an Ex event does not wait */
    EXPECT_OK(aclrtSynchronizeStream(stream));

    /* 4.5: a classic event with SYNC waits for a later record. */
    static int ran;
    EXPECT_OK(aclrtStreamWaitEvent(stream, sync_only));
    REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);
    EXPECT_TRUE(count_of(&ran) == 0, "the stream does not wait");
    EXPECT_OK(aclrtRecordEvent(sync_only, other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 1, "not released");

    /* 4.5: streams cannot wait for an event without SYNC. */
    EXPECT_OK(aclrtRecordEvent(time_line, stream));
    EXPECT_CODE(aclrtStreamWaitEvent(other, time_line), 207000);

    /* 4.5: calls that Ex events do not support. */
    aclrtEventStatus status;
    aclrtEventWaitStatus waited;
    EXPECT_OK(aclrtRecordEvent(reusable, stream));
    EXPECT_CODE(aclrtQueryEvent(reusable, &status), 207000);
    EXPECT_CODE(aclrtQueryEventWaitStatus(reusable, &waited), 207000);
    EXPECT_CODE(aclrtResetEvent(reusable, stream), 207000);

    /* Times of an event that was never recorded. */
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
