/*
 * Offloads a block on a copy stream, ordered after the compute stream by an event.
 *
 * buggy.c waits for the compute stream. Downloads were moved to a dedicated stream so that they
 * overlap with the model, and the wait was not moved with them.
 * fixed.c waits for the copy stream.
 */
#include "../zoo.h"

#define WORDS 8192
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *host;
    void *block;
    aclrtStream compute, copy;
    aclrtEvent computed;
    begin();
    OK(aclrtCreateStream(&compute));
    OK(aclrtCreateStream(&copy));
    OK(aclrtCreateEventExWithFlag(&computed, ACL_EVENT_SYNC));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, SIZE));
    fill(host, WORDS, 0);

    OK(aclrtMemsetAsync(block, SIZE, 0x33, SIZE, compute));
    OK(aclrtRecordEvent(computed, compute));
    OK(aclrtStreamWaitEvent(copy, computed));
    OK(aclrtMemcpyAsync(host, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, copy));
    OK(aclrtSynchronizeStream(compute));
    size_t wrong = wrong_words(host, WORDS, 0x33333333);

    OK(aclrtSynchronizeStream(copy));
    OK(aclrtDestroyEvent(computed));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(copy));
    OK(aclrtDestroyStream(compute));
    end();
    return verdict(wrong, WORDS, "words");
}
