/*
 * Prefetches the weights of a layer on one stream and uses them on another (read after write).
 *
 * buggy.c does not order the two streams: one reads what the other has half written.
 * fixed.c makes the compute stream wait for an event recorded after the load.
 * Modeled on https://github.com/vllm-project/vllm-ascend/pull/16962.
 */
#include "../zoo.h"

#define WORDS (16 * 1024)
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *weights, *layer, *work;
    aclrtStream prefetch, compute;
    begin();
    OK(aclrtCreateStream(&prefetch));
    OK(aclrtCreateStream(&compute));
    OK(aclrtMallocHost(&weights, SIZE));
    OK(aclrtMalloc(&layer, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&work, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(layer, SIZE, 0, SIZE)); /* the previous layer */
    fill(weights, WORDS, 5);

    OK(aclrtMemcpyAsync(layer, SIZE, weights, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, prefetch));
    OK(aclrtMemcpyAsync(work, SIZE, layer, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, compute));
    OK(aclrtSynchronizeStream(compute));
    OK(aclrtSynchronizeStream(prefetch));

    size_t wrong = wrong_on_device(work, WORDS, 5);
    OK(aclrtFree(work));
    OK(aclrtFree(layer));
    OK(aclrtFreeHost(weights));
    OK(aclrtDestroyStream(compute));
    OK(aclrtDestroyStream(prefetch));
    end();
    return verdict(wrong, WORDS, "weights");
}
