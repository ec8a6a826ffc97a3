/*
 * A consumer waits for an event before the producer records it. The event was created with a flag,
 * so the wait is for the next record.
 *
 * buggy.c records another event than the one that the consumer waits for.
 * fixed.c records the event that the consumer waits for.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtStream producer, consumer;
    aclrtEvent loaded, started;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtCreateEventWithFlag(&loaded, ACL_EVENT_SYNC));
    OK(aclrtCreateEventWithFlag(&started, ACL_EVENT_SYNC));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(source, WORDS, 5);

    OK(aclrtStreamWaitEvent(consumer, loaded));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtRecordEvent(started, producer));
    OK(aclrtSynchronizeStream(producer));
    OK(aclrtSynchronizeStream(consumer));

    size_t wrong = wrong_words(result, WORDS, 5);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyEvent(started));
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
