/*
 * Decodes into a block of a KV cache with a kernel on one stream, and offloads the block to the host on another.
 *
 * buggy.c knows from its own bookkeeping that the block was computed, and has no event between the two streams: the
 * offload may copy the block before the kernel has run.
 * fixed.c records an event after the kernel and lets the offload stream wait for it.
 */
#include "../zoo.h"
#include "softacl/softacl.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static void *block;

static int decode(void *unused)
{
    void *view;
    (void)unused;
    if (softaclHostView(block, SIZE, &view) != ACL_SUCCESS) {
        return 507035;
    }
    fill(view, WORDS, 7);
    return 0;
}

int main(void)
{
    void *pool;
    aclrtStream compute, offload;
    begin();
    OK(aclrtCreateStream(&compute));
    OK(aclrtCreateStream(&offload));
    OK(aclrtMallocHost(&pool, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    fill(pool, WORDS, 0);

    softaclRange cache = {block, SIZE, SOFTACL_WRITE};
    OK(softaclLaunchKernel(compute, decode, NULL, NULL, &cache, 1, "decode"));
    OK(aclrtMemcpyAsync(pool, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, offload));
    OK(aclrtSynchronizeStream(offload));
    size_t wrong = wrong_words(pool, WORDS, 7);
    OK(aclrtSynchronizeStream(compute));

    OK(aclrtFree(block));
    OK(aclrtFreeHost(pool));
    OK(aclrtDestroyStream(compute));
    OK(aclrtDestroyStream(offload));
    end();
    return verdict(wrong, WORDS, "words");
}
