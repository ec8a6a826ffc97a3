/*
 * A consumer waits until a counter in device memory shows that two blocks are loaded. The producer
 * loads both blocks.
 *
 * buggy.c counts only the first block.
 * fixed.c counts both.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block, *loaded;
    aclrtStream producer, consumer;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&loaded, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(loaded, 64, 0, 64));
    fill(source, WORDS, 5);

    OK(aclrtMemcpyAsync(block, SIZE / 2, source, SIZE / 2, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtMemcpyAsync((char *)block + SIZE / 2, SIZE / 2, (char *)source + SIZE / 2, SIZE / 2,
                        ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtValueWrite(loaded, 1, 0, producer));
    OK(aclrtValueWait(loaded, 2, ACL_STREAM_WAIT_VALUE_GEQ, consumer));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtSynchronizeStream(producer));

    size_t wrong = wrong_words(result, WORDS, 5);
    OK(aclrtFree(loaded));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
