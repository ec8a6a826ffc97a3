/*
 * A producer stream loads a block in two pieces and records a notify. A consumer stream waits for the
 * notify and reads the block, in two rounds.
 *
 * buggy.c records the notify after each piece. The second record of a round is left over and releases
 * the wait of the next round.
 * fixed.c records it once in each round.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtStream producer, consumer;
    aclrtNotify loaded;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtCreateNotify(&loaded, 0));
    fill(source, WORDS, 9);

    for (int round = 0; round < 2; round++) {
        OK(aclrtMemcpyAsync(block, SIZE / 2, source, SIZE / 2, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        OK(aclrtMemcpyAsync((char *)block + SIZE / 2, SIZE / 2, source, SIZE / 2, ACL_MEMCPY_HOST_TO_DEVICE,
                            producer));
        OK(aclrtRecordNotify(loaded, producer));
        OK(aclrtWaitAndResetNotify(loaded, consumer, 0));
        OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        OK(aclrtSynchronizeStream(consumer));
    }
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtSynchronizeStream(producer));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtDestroyNotify(loaded));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
