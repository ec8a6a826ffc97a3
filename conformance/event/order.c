// soc: all
// schedules: all
// expects: H3
/* Events order streams: a waiting stream stops until the record
 * completes, also if the event was destroyed after the calls. */
#include "../expect.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

static aclrtEvent new_event(int kind)
{
    aclrtEvent event = NULL;
    REQUIRE_OK(kind == 0   ? aclrtCreateEvent(&event)
               : kind == 1 ? aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC)
                           : aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream producer = new_stream(), consumer = new_stream();
    uint8_t *source = (uint8_t *)pinned_memory(SIZE);
    uint8_t *result = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);

    for (int round = 0; round < 6; round++) {
        int destroy_early = round >= 3;
        aclrtEvent event = new_event(round % 3);
        fill_pattern(source, SIZE, 10 + (uint32_t)round);
        memset(result, 0, SIZE);
        gate_close(&gate, producer);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        EXPECT_OK(aclrtRecordEvent(event, producer));
        EXPECT_OK(aclrtStreamWaitEvent(consumer, event));
        EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        if (destroy_early) { /* does not block, and keeps the queued record and wait */
            EXPECT_OK(aclrtDestroyEvent(event));
        }
        gate_await(&gate);
        EXPECT_TRUE(stream_is_busy(consumer), "the consumer does not wait");
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(consumer, 5), 507046);
        EXPECT_VALUE(result, SIZE, 0);
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(consumer));
        EXPECT_PATTERN(result, SIZE, 10 + (uint32_t)round);
        if (!destroy_early) {
            EXPECT_OK(aclrtDestroyEvent(event));
        }
        EXPECT_OK(aclrtSynchronizeStream(producer));
    }

    /* One record releases many streams, including the default stream. */
    aclrtStream waiters[8];
    static int ran;
    aclrtEvent event = new_event(2);
    gate_close(&gate, producer);
    EXPECT_OK(aclrtRecordEvent(event, producer));
    for (int i = 0; i < 8; i++) {
        waiters[i] = i == 0 ? NULL : new_stream();
        EXPECT_OK(aclrtStreamWaitEvent(waiters[i], event));
        REQUIRE_OK(aclrtLaunchHostFunc(waiters[i], count_up, &ran));
    }
    EXPECT_TRUE(count_of(&ran) == 0, "a stream does not wait");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_TRUE(count_of(&ran) == 8, "%d of 8", count_of(&ran));
    for (int i = 1; i < 8; i++) {
        EXPECT_OK(aclrtDestroyStream(waiters[i]));
    }
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(producer));
    EXPECT_OK(aclrtDestroyStream(consumer));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
