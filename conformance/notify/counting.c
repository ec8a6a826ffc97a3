// soc: Ascend950
// schedules: all
/* Counting notifies: how records change the counter, and which values resolve a wait. */
#include "../expect.h"

static aclrtStream stream, waiter;
static aclrtCntNotify notify;

static void record(aclrtCntNotifyRecordMode mode, uint32_t value)
{
    aclrtCntNotifyRecordInfo info = {mode, value};
    EXPECT_OK(aclrtCntNotifyRecord(notify, stream, &info));
}

static void wait_for(aclrtCntNotifyWaitMode mode, uint32_t value, uint8_t is_clear)
{
    aclrtCntNotifyWaitInfo info = {mode, value, 0, is_clear, {0, 0, 0}};
    EXPECT_OK(aclrtCntNotifyWaitWithTimeout(notify, waiter, &info));
}

/* Expects that the counter has this value. */
static void expect_counter(uint32_t value)
{
    EXPECT_OK(aclrtSynchronizeStream(stream));
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, value, 0);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiter, 20000), 0);
}

/* Expects that a wait is pending at value `before` and resolved at `after`. */
static void expect_pending_until(aclrtCntNotifyWaitMode mode, uint32_t value, uint32_t before, uint32_t after)
{
    record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, before);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    wait_for(mode, value, 0);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiter, 5), 507046);
    record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, after);
    EXPECT_OK(aclrtSynchronizeStream(waiter));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    waiter = new_stream();
    REQUIRE_OK(aclrtCntNotifyCreate(&notify, 0));
    expect_counter(0);
    record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 6);
    expect_counter(6);
    record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 3);
    expect_counter(9);
    record(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 6);
    expect_counter(15);
    record(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 10);
    expect_counter(10);
    EXPECT_OK(aclrtCntNotifyReset(notify, stream));
    expect_counter(0);

    expect_pending_until(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 5, 5, 4);
    expect_pending_until(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 6, 5);
    expect_pending_until(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 5, 5, 6);
    expect_pending_until(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 5, 4, 5);
    expect_pending_until(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 5, 0, 5);

    /* With isClear the passing wait sets the counter to 0; without it the counter does not change. */
    record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 5);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 0);
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 1);
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0, 0);
    EXPECT_OK(aclrtSynchronizeStream(waiter));

    /* A barrier: every stream adds one. */
    enum { MEMBERS = 8 };
    aclrtStream members[MEMBERS];
    static int ran;
    aclrtCntNotifyRecordInfo one = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, MEMBERS, 1);
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = new_stream();
        EXPECT_OK(aclrtLaunchHostFunc(members[i], count_up, &ran));
        EXPECT_OK(aclrtCntNotifyRecord(notify, members[i], &one));
    }
    EXPECT_OK(aclrtSynchronizeStream(waiter));
    EXPECT_TRUE(count_of(&ran) == MEMBERS, "%d of %d", count_of(&ran), MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        EXPECT_OK(aclrtDestroyStream(members[i]));
    }
    EXPECT_OK(aclrtCntNotifyDestroy(notify));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(waiter));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
