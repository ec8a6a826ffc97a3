// soc: all
// schedules: all
// misuses: H3
/* A wait belongs to the record that was made before it; later records of the same event change nothing for it. */
#include "../expect.h"

#define SIZE 64

static struct gate gate = GATE_INITIALIZER;

static void generations(aclrtEvent event)
{
    aclrtStream held = new_stream(), waiter = new_stream(), third = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    device_fill(device, SIZE, 1);

    /* Recorded behind the gate, waited for, recorded again elsewhere where it completes at once. */
    gate_close(&gate, held);
    EXPECT_OK(aclrtRecordEvent(event, held));
    EXPECT_OK(aclrtStreamWaitEvent(waiter, event));
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, waiter));
    EXPECT_OK(aclrtRecordEvent(event, third));
    EXPECT_OK(aclrtSynchronizeStream(third));
    EXPECT_OK(aclrtSynchronizeEvent(event)); /* the latest record */
    EXPECT_TRUE(stream_is_busy(waiter), "still bound to the first record");
    EXPECT_VALUE(pinned, SIZE, 0);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(waiter));
    EXPECT_PATTERN(pinned, SIZE, 1);
    EXPECT_OK(aclrtSynchronizeStream(held));

    /* The other way round: the record before the wait is done, the one after it is held. */
    memset(pinned, 0, SIZE);
    EXPECT_OK(aclrtRecordEvent(event, third));
    EXPECT_OK(aclrtStreamWaitEvent(waiter, event));
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, waiter));
    gate_close(&gate, held);
    EXPECT_OK(aclrtRecordEvent(event, held));
    EXPECT_OK(aclrtSynchronizeStream(waiter)); /* does not need the gate */
    EXPECT_PATTERN(pinned, SIZE, 1);
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 5), 507047); /* the latest record is the held one */
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeEvent(event));

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(held));
    EXPECT_OK(aclrtDestroyStream(waiter));
    EXPECT_OK(aclrtDestroyStream(third));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    generations(event);
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtCreateEvent(&event));
    generations(event);
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
