/*
 * A consumer stream waits for a value in device memory. A producer stream loads a block and writes
 * the value. That is correct although the reader is queued before the writer.
 *
 * buggy.c writes the value before it loads the block, so the consumer reads while the producer
 * still writes.
 * fixed.c writes the value after the load.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block, *turn;
    aclrtStream producer, consumer;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&turn, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtMemset(turn, 64, 0, 64));
    fill(source, WORDS, 9);

    OK(aclrtValueWait(turn, 1, ACL_STREAM_WAIT_VALUE_GEQ, consumer));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtValueWrite(turn, 1, 0, producer));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtSynchronizeStream(producer));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtFree(turn));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
