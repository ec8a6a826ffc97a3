/*
 * Zeroes a new block on a compute stream and loads its first half on a load stream (write after
 * write).
 *
 * buggy.c does not order the two streams, so the zeros may be written last.
 * fixed.c makes the load stream wait for an event recorded after the memset.
 * Modeled on https://github.com/vllm-project/vllm-ascend/pull/12200.
 */
#include "../zoo.h"

#define WORDS 8192
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *pool, *block;
    aclrtStream compute, load;
    aclrtEvent zeroed;
    begin();
    OK(aclrtCreateStream(&compute));
    OK(aclrtCreateStream(&load));
    OK(aclrtCreateEventExWithFlag(&zeroed, ACL_EVENT_SYNC));
    OK(aclrtMallocHost(&pool, SIZE / 2));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(pool, WORDS / 2, 6);

    OK(aclrtMemsetAsync(block, SIZE, 0, SIZE, compute));
    OK(aclrtRecordEvent(zeroed, compute));
    OK(aclrtStreamWaitEvent(load, zeroed));
    OK(aclrtMemcpyAsync(block, SIZE, pool, SIZE / 2, ACL_MEMCPY_HOST_TO_DEVICE, load));
    OK(aclrtSynchronizeStream(load));
    OK(aclrtSynchronizeStream(compute));

    size_t wrong = wrong_on_device(block, WORDS / 2, 6);
    OK(aclrtDestroyEvent(zeroed));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(pool));
    OK(aclrtDestroyStream(load));
    OK(aclrtDestroyStream(compute));
    end();
    return verdict(wrong, WORDS / 2, "words of the loaded half");
}
