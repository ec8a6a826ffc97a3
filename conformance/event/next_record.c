// schedules: all
/* A stream that waits for an event before its first record is bound to that record: later records, a reset or the end of
 * the event change nothing for it, and never leave it waiting. */
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

    /* 4.5: classic with SYNC waits for a record that comes later. */
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    EXPECT_OK(aclrtRecordEvent(event, second));
    EXPECT_OK(aclrtResetEvent(event, first));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(first, 20000));
    EXPECT_OK(aclrtDestroyEvent(event));

    /* A second record behind the wait, on the waiting stream itself. */
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    EXPECT_OK(aclrtRecordEvent(event, second));
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(first, 20000));
    EXPECT_OK(aclrtDestroyEvent(event));

    /* The event goes while a thread waits for the stream. */
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtStreamWaitEvent(first, event));
    aclError code = -1;
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, synchronize, &code) == 0, "pthread_create");
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_TRUE(code == 0, "the wait gave %d", code);

    /* Waits that were dropped, or whose event is gone, are not waits of another event. */
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
