/*
 * Sums a block in a host function that stands in for a kernel, while another stream loads the block. Host functions are
 * opaque to every tool; the annotation declares what this one reads.
 *
 * buggy.c does not order the two streams, so the kernel may read the block before it is loaded.
 * fixed.c makes the compute stream wait for an event recorded after the load.
 */
#include "../zoo.h"
#include "softacl/softacl.h"
#if __has_include("softacl/annotate.h")
#include "softacl/annotate.h"
#else
#define softaclAnnotateRead(stream, address, size) ACL_SUCCESS
#endif

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static void *block;
static uint64_t sum;

static void sum_kernel(void *unused)
{
    void *view;
    (void)unused;
    if (softaclHostView(block, SIZE, &view) == ACL_SUCCESS) {
        for (size_t i = 0; i < WORDS; i++) {
            sum += ((uint32_t *)view)[i];
        }
    }
}

int main(void)
{
    void *pool;
    aclrtStream load, compute;
    begin();
    OK(aclrtCreateStream(&load));
    OK(aclrtCreateStream(&compute));
    OK(aclrtMallocHost(&pool, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    fill(pool, WORDS, 3);

    OK(aclrtMemcpyAsync(block, SIZE, pool, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, load));
    OK(aclrtLaunchHostFunc(compute, sum_kernel, NULL));
    OK(softaclAnnotateRead(compute, block, SIZE));
    OK(aclrtSynchronizeStream(compute));
    OK(aclrtSynchronizeStream(load));

    OK(aclrtFree(block));
    OK(aclrtFreeHost(pool));
    OK(aclrtDestroyStream(compute));
    OK(aclrtDestroyStream(load));
    end();
    return verdict(sum != 3 * WORDS, 1, "sums");
}
