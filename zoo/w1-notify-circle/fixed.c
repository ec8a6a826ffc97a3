/*
 * Two streams hand a block to each other with notifies: each one waits until the other is done.
 *
 * buggy.c queues the wait of both streams before the record of both, so each stream waits for the
 * other one and neither records.
 * fixed.c lets the producer record before it waits.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtStream producer, consumer;
    aclrtNotify loaded, taken;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtCreateNotify(&loaded, 0));
    OK(aclrtCreateNotify(&taken, 0));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(source, WORDS, 5);

    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtRecordNotify(loaded, producer));
    OK(aclrtWaitAndResetNotify(taken, producer, 0));
    OK(aclrtWaitAndResetNotify(loaded, consumer, 0));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtRecordNotify(taken, consumer));
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtSynchronizeStream(producer));

    size_t wrong = wrong_words(result, WORDS, 5);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyNotify(taken));
    OK(aclrtDestroyNotify(loaded));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
