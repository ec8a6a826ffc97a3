// soc: all
// schedules: all
// expects: H3
/* A wait is bound to the record made before it; later records of the event do not affect it. */
#include "../expect.h"

#define SIZE 64

static struct gate gate = GATE_INITIALIZER;

static void check_binding(aclrtEvent event)
{
    aclrtStream blocked = new_stream(), waiter = new_stream(), third = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    device_fill(device, SIZE, 1);

    /* The record before the wait is behind the gate; a later record on another stream completes immediately. */
    gate_close(&gate, blocked);
    EXPECT_OK(aclrtRecordEvent(event, blocked));
    EXPECT_OK(aclrtStreamWaitEvent(waiter, event));
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, waiter));
    EXPECT_OK(aclrtRecordEvent(event, third));
    EXPECT_OK(aclrtSynchronizeStream(third));
    EXPECT_OK(aclrtSynchronizeEvent(event)); /* waits for the latest record */
    EXPECT_TRUE(stream_is_busy(waiter), "the wait is not bound to the first record");
    EXPECT_VALUE(pinned, SIZE, 0);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(waiter));
    EXPECT_PATTERN(pinned, SIZE, 1);
    EXPECT_OK(aclrtSynchronizeStream(blocked));

    /* The record before the wait has completed; a later record is behind the gate. */
    memset(pinned, 0, SIZE);
    EXPECT_OK(aclrtRecordEvent(event, third));
    EXPECT_OK(aclrtStreamWaitEvent(waiter, event));
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, waiter));
    gate_close(&gate, blocked);
    EXPECT_OK(aclrtRecordEvent(event, blocked));
    EXPECT_OK(aclrtSynchronizeStream(waiter)); /* does not depend on the gate */
    EXPECT_PATTERN(pinned, SIZE, 1);
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 5), 507047); /* the latest record is behind the gate */
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeEvent(event));

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(blocked));
    EXPECT_OK(aclrtDestroyStream(waiter));
    EXPECT_OK(aclrtDestroyStream(third));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    check_binding(event);
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtCreateEvent(&event));
    check_binding(event);
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
