// soc: Ascend950
// schedules: all
/* Counting notifies: what records do to the number, and which numbers let a wait pass. */
#include "../expect.h"

static aclrtStream stream, waiter;
static aclrtCntNotify notify;

static void record(aclrtCntNotifyRecordMode mode, uint32_t value)
{
    aclrtCntNotifyRecordInfo info = {mode, value};
    EXPECT_OK(aclrtCntNotifyRecord(notify, stream, &info));
}

static void wait_for(aclrtCntNotifyWaitMode mode, uint32_t value, uint8_t clears)
{
    aclrtCntNotifyWaitInfo info = {mode, value, 0, clears, {0, 0, 0}};
    EXPECT_OK(aclrtCntNotifyWaitWithTimeout(notify, waiter, &info));
}

/* The number is exactly this. */
static void expect_number(uint32_t value)
{
    EXPECT_OK(aclrtSynchronizeStream(stream));
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, value, 0);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiter, 20000), 0);
}

/* The wait holds until the number is set. */
static void expect_holds(aclrtCntNotifyWaitMode mode, uint32_t value, uint32_t before, uint32_t after)
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
    expect_number(0);
    record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 6);
    expect_number(6);
    record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 3);
    expect_number(9);
    record(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 6);
    expect_number(15);
    record(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 10);
    expect_number(10);
    EXPECT_OK(aclrtCntNotifyReset(notify, stream));
    expect_number(0);

    expect_holds(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 5, 5, 4);
    expect_holds(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 6, 5);
    expect_holds(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 5, 5, 6);
    expect_holds(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 5, 4, 5);
    expect_holds(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 5, 0, 5);

    /* isClear sets the number back when the stream passes; without it the number stays. */
    record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 5);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 0);
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 1);
    wait_for(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0, 0);
    EXPECT_OK(aclrtSynchronizeStream(waiter));

    /* A barrier for many: each adds one. */
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
