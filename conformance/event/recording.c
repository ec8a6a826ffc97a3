// soc: all
// schedules: all
// expects: C1
/* Recording, querying, synchronizing and resetting events,
 * with the codes for invalid timeouts, handles and contexts. */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;

static int is_complete(aclrtEvent event)
{
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    return recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

static void check_record(aclrtEvent event, aclrtStream stream)
{
    gate_close(&gate, stream);
    EXPECT_OK(aclrtRecordEvent(event, stream));
    gate_await(&gate);
    EXPECT_TRUE(!is_complete(event), "complete before the gate opened");
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 0), 107000); /* 4.5 */
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, -2), 107000);
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 5), 507047); /* 4.5: expiry */
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_TRUE(is_complete(event), "not complete");
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, -1));
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 1000));
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtEvent events[4] = {NULL};
    REQUIRE_OK(aclrtCreateEvent(&events[0]));
    REQUIRE_OK(aclrtCreateEventWithFlag(&events[1], ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&events[2], ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&events[3], ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    for (int i = 0; i < 4; i++) {
        check_record(events[i], stream);
        if (i != 1) { /* an event that reserves a resource needs a reset first */
            check_record(events[i], stream);
            check_record(events[i], NULL); /* the default stream */
        }
    }

    /* Legacy status query and reset of a classic event. */
    aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
    aclrtEventWaitStatus waited = ACL_EVENT_WAIT_STATUS_RESERVED;
    gate_close(&gate, stream);
    EXPECT_OK(aclrtRecordEvent(events[0], stream));
    EXPECT_OK(aclrtQueryEvent(events[0], &status));
    /* 1 in this enumeration, 0 in the newer one */
    EXPECT_TRUE(status == ACL_EVENT_STATUS_NOT_READY, "status %d", (int)status);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeEvent(events[0]));
    EXPECT_OK(aclrtQueryEvent(events[0], &status));
    EXPECT_TRUE(status == ACL_EVENT_STATUS_COMPLETE, "status %d", (int)status);
    EXPECT_OK(aclrtStreamWaitEvent(stream, events[0]));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtQueryEventWaitStatus(events[0], &waited));
    EXPECT_TRUE(waited == ACL_EVENT_WAIT_STATUS_COMPLETE, "waits %d", (int)waited);
    EXPECT_OK(aclrtResetEvent(events[1], stream)); /* classic with SYNC */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    check_record(events[1], stream);

    /* Handles and contexts. */
    EXPECT_CODE(aclrtRecordEvent(NULL, stream), 100000);
    EXPECT_CODE(aclrtRecordEvent(events[0], stale_stream()), 107017);
    /* 4.5: negative timeout, or not on this product */
    EXPECT_EITHER(aclrtStreamWaitEventWithTimeout(stream, events[0], -1), 107000, 207000);
    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_CODE(aclrtRecordEvent(events[0], stream), 107003); /* 4.5: other context */
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(aclrtDestroyEvent(events[i]));
        EXPECT_CODE(aclrtRecordEvent(events[i], stream), 107017); /* 4.5: destroyed */
        EXPECT_CODE(aclrtDestroyEvent(events[i]), 107017);
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
