/*
 * A producer stream and a consumer stream that are ordered by events, and the time between two events.
 *
 * The producer uploads blocks into one device buffer, the consumer downloads them. `filled` makes
 * the consumer wait for the producer, `drained` makes the producer wait for the consumer before it
 * overwrites the buffer. The host queues everything without waiting and checks the result at the end.
 *
 * Ex events (aclrtCreateEventExWithFlag) may be recorded repeatedly, and a wait for an event that was
 * never recorded returns at once. Streams can wait for events with ACL_EVENT_SYNC. Events with
 * ACL_EVENT_TIME_LINE have a time stamp.
 */
#include "common.h"

#define SIZE 65536
#define BLOCKS 8

int main(void)
{
    aclrtStream producer, consumer;
    aclrtEvent filled, drained, begin, end;
    uint8_t *in, *out;
    void *device;
    float ms = -1;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&producer));
    CHECK(aclrtCreateStream(&consumer));
    CHECK(aclrtCreateEventExWithFlag(&filled, ACL_EVENT_SYNC));
    CHECK(aclrtCreateEventExWithFlag(&drained, ACL_EVENT_SYNC));
    CHECK(aclrtCreateEventExWithFlag(&begin, ACL_EVENT_TIME_LINE));
    CHECK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE));
    CHECK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost((void **)&in, (size_t)BLOCKS * SIZE));
    CHECK(aclrtMallocHost((void **)&out, (size_t)BLOCKS * SIZE));
    memset(out, 0, (size_t)BLOCKS * SIZE);

    CHECK(aclrtRecordEvent(begin, producer));
    for (unsigned b = 0; b < BLOCKS; b++) {
        uint8_t *from = in + (size_t)b * SIZE, *to = out + (size_t)b * SIZE;
        fill_pattern(from, SIZE, b);
        CHECK(aclrtStreamWaitEvent(producer, drained)); /* passes in the first round */
        CHECK(aclrtMemcpyAsync(device, SIZE, from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        CHECK(aclrtRecordEvent(filled, producer));

        CHECK(aclrtStreamWaitEvent(consumer, filled)); /* waits for the record of this round */
        CHECK(aclrtMemcpyAsync(to, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        CHECK(aclrtRecordEvent(drained, consumer));
    }
    CHECK(aclrtRecordEvent(end, consumer));

    CHECK(aclrtSynchronizeEvent(end)); /* the consumer is done, and so is the producer */
    for (unsigned b = 0; b < BLOCKS; b++) {
        VERIFY(has_pattern(out + (size_t)b * SIZE, SIZE, b));
    }
    CHECK(aclrtEventElapsedTime(&ms, begin, end));
    VERIFY(ms >= 0);

    /* Here 1 means complete; in the older aclrtQueryEvent it is 0. */
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    CHECK(aclrtQueryEventStatus(end, &status));
    VERIFY(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    printf("03_events: %d blocks copied through one buffer in %.3f ms\n", BLOCKS, ms);

    CHECK(aclrtFreeHost(out));
    CHECK(aclrtFreeHost(in));
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyEvent(end));
    CHECK(aclrtDestroyEvent(begin));
    CHECK(aclrtDestroyEvent(drained));
    CHECK(aclrtDestroyEvent(filled));
    CHECK(aclrtDestroyStream(consumer));
    CHECK(aclrtDestroyStream(producer));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
