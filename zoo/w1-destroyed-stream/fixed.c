/*
 * A producer waits for a start signal, loads a block and records a notify; a consumer gives the
 * signal and waits for the notify.
 *
 * buggy.c destroys the stream of the producer by force before it has run, which drops the record.
 * fixed.c destroys it after the consumer is done.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtStream producer, consumer;
    aclrtNotify loaded, go;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtCreateNotify(&loaded, 0));
    OK(aclrtCreateNotify(&go, 0));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(source, WORDS, 5);

    OK(aclrtWaitAndResetNotify(go, producer, 0));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtRecordNotify(loaded, producer));
    OK(aclrtRecordNotify(go, consumer));
    OK(aclrtWaitAndResetNotify(loaded, consumer, 0));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtDestroyStreamForce(producer));

    size_t wrong = wrong_words(result, WORDS, 5);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyNotify(go));
    OK(aclrtDestroyNotify(loaded));
    OK(aclrtDestroyStream(consumer));
    end();
    return verdict(wrong, WORDS, "words");
}
