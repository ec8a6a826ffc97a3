/*
 * Loads 8 blocks. Developed on a 910B and deployed on a 310P, which has no batch copies.
 *
 * buggy.c calls the batch function, logs the code 207000 that it returns there, and continues
 * without the blocks.
 * fixed.c copies the blocks one by one if the call fails.
 */
#include "../zoo.h"

#define BLOCKS 8
#define WORDS 1024
#define BLOCK (WORDS * sizeof(uint32_t))

int main(void)
{
    char *pool, *cache;
    void *dsts[BLOCKS], *srcs[BLOCKS];
    size_t rooms[BLOCKS], sizes[BLOCKS], first = 0;
    aclrtMemcpyBatchAttr up = {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&pool, BLOCKS * BLOCK));
    OK(aclrtMalloc((void **)&cache, BLOCKS * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(cache, BLOCKS * BLOCK, 0, BLOCKS * BLOCK));
    fill(pool, BLOCKS * WORDS, 4);
    for (size_t b = 0; b < BLOCKS; b++) {
        dsts[b] = cache + b * BLOCK;
        srcs[b] = pool + b * BLOCK;
        rooms[b] = (BLOCKS - b) * BLOCK;
        sizes[b] = BLOCK;
    }
    logged("aclrtMemcpyBatchAsyncV2",
           aclrtMemcpyBatchAsyncV2(dsts, rooms, srcs, sizes, BLOCKS, &up, &first, 1, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(cache, BLOCKS * WORDS, 4);
    OK(aclrtFree(cache));
    OK(aclrtFreeHost(pool));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong / WORDS, BLOCKS, "blocks");
}
