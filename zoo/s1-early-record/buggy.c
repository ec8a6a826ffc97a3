/*
 * A producer stream clears a block and loads it. A consumer stream waits for an event of the producer
 * and reads the block.
 *
 * buggy.c records the event between the two. There is a record and a wait, and the load is not covered.
 * fixed.c records it after the load.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtStream producer, consumer;
    aclrtEvent loaded;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtCreateEventExWithFlag(&loaded, ACL_EVENT_SYNC));
    fill(source, WORDS, 9);

    OK(aclrtMemsetAsync(block, SIZE, 0, SIZE, producer));
    OK(aclrtRecordEvent(loaded, producer));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtStreamWaitEvent(consumer, loaded));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtSynchronizeStream(producer));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
