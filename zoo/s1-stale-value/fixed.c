/*
 * A producer stream loads a block in two rounds. A consumer stream waits for a value in device
 * memory and reads the block, once in each round.
 *
 * buggy.c uses the same value in both rounds. In the second one it is already there, so the wait
 * passes at once.
 * fixed.c counts the rounds.
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
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtMalloc(&turn, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(turn, 64, 0, 64));
    fill(source, WORDS, 9);

    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtValueWrite(turn, 1, 0, producer));
    OK(aclrtValueWait(turn, 1, ACL_STREAM_WAIT_VALUE_GEQ, consumer));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtSynchronizeStream(consumer));

    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtValueWrite(turn, 2, 0, producer));
    OK(aclrtValueWait(turn, 2, ACL_STREAM_WAIT_VALUE_GEQ, consumer));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
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
