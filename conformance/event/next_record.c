// schedules: all
/* A wait queued before the first record of an event is bound to that record. Later records, a reset or the destruction
 * of the event do not change that, and the wait always completes. */
#include "../expect.h"

static aclrtEvent event;
static aclrtStream first, second;

static void *synchronize(void *code)
{
    EXPECT_OK(aclrtSetDevice(0));
    *(aclError *)code = aclrtSynchronizeStream(first);
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    first = new_stream();
    second = new_stream();

    /* 4.5: a classic event with SYNC waits for a later record. */
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    EXPECT_OK(aclrtRecordEvent(event, second));
    EXPECT_OK(aclrtResetEvent(event, first));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(first, 20000));
    EXPECT_OK(aclrtDestroyEvent(event));

    /* A second record, queued after the wait on the waiting stream. */
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    EXPECT_OK(aclrtRecordEvent(event, second));
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(first, 20000));
    EXPECT_OK(aclrtDestroyEvent(event));

    /* The event is destroyed while a thread waits for the stream. */
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    aclError code = -1;
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, synchronize, &code) == 0, "pthread_create");
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_TRUE(code == 0, "the wait returned %d", code);

    /* Pending waits of a destroyed event do not count as waits of a new event. */
    static struct gate gate = GATE_INITIALIZER;
    REQUIRE_OK(aclrtCreateEvent(&event));
    gate_close(&gate, second);
    EXPECT_OK(aclrtRecordEvent(event, second));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtCreateEvent(&event));
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(first));
    aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
    EXPECT_OK(aclrtQueryEventWaitStatus(event, &status));
    EXPECT_TRUE(status == ACL_EVENT_WAIT_STATUS_COMPLETE, "status %d", (int)status);

    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtDestroyStream(second));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
