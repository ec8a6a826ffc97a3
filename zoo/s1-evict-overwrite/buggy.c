/*
 * Offloads a KV block on a store stream and writes tokens of another request into the block on a
 * compute stream (write after read).
 *
 * buggy.c does not order the two streams, so the offload may save the new tokens.
 * fixed.c makes the compute stream wait for an event recorded after the offload.
 * Modeled on https://github.com/LMCache/LMCache-Ascend/pull/189.
 */
#include "../zoo.h"

#define WORDS 8192
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *saved;
    void *block;
    aclrtStream store, compute;
    begin();
    OK(aclrtCreateStream(&store));
    OK(aclrtCreateStream(&compute));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0x11, SIZE)); /* the first request */
    OK(aclrtMallocHost((void **)&saved, SIZE));

    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, store));
    OK(aclrtMemsetAsync(block, SIZE, 0x22, SIZE, compute)); /* the second request */
    OK(aclrtSynchronizeStream(compute));
    OK(aclrtSynchronizeStream(store));

    size_t wrong = wrong_words(saved, WORDS, 0x11111111);
    OK(aclrtFreeHost(saved));
    OK(aclrtFree(block));
    OK(aclrtDestroyStream(compute));
    OK(aclrtDestroyStream(store));
    end();
    return verdict(wrong, WORDS, "words of the offloaded block");
}
