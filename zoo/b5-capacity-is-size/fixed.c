/*
 * Offloads 8 blocks with one batch.
 *
 * buggy.c passes the array of sizes as destMaxs. The only check that could find an entry that is
 * too large then compares a number with itself.
 * fixed.c passes the space that is left in the destination.
 */
#include "../zoo.h"

#define BLOCKS 8
#define WORDS 1024
#define BLOCK (WORDS * sizeof(uint32_t))

int main(void)
{
    char *cache, *host;
    void *dsts[BLOCKS], *srcs[BLOCKS];
    size_t sizes[BLOCKS], first = 0, fail = SIZE_MAX;
    size_t rooms[BLOCKS];
    aclrtMemcpyBatchAttr down = {{0, ACL_MEM_LOCATION_TYPE_HOST}, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0}};
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&cache, BLOCKS * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(cache, BLOCKS * BLOCK, 0x11, BLOCKS * BLOCK));
    OK(aclrtMallocHost((void **)&host, BLOCKS * BLOCK));
    for (size_t b = 0; b < BLOCKS; b++) {
        dsts[b] = host + b * BLOCK;
        srcs[b] = cache + b * BLOCK;
        sizes[b] = BLOCK;
        rooms[b] = (BLOCKS - b) * BLOCK; /* the space that is left */
    }
    OK(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, BLOCKS, &down, &first, 1, &fail, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(host, BLOCKS * WORDS, 0x11111111);
    OK(aclrtFree(cache));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, BLOCKS * WORDS, "words");
}
