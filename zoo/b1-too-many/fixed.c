/*
 * Loads the 4100 blocks of a request with blocking batch copies. The number of blocks grew with the
 * length of the context.
 *
 * buggy.c passes all of them in one call. The call accepts at most 4096 entries; with one more,
 * nothing is copied.
 * fixed.c splits them into batches of at most 4096 entries.
 */
#include "../zoo.h"

#define BLOCKS 4100
#define WORDS 16
#define BLOCK (WORDS * sizeof(uint32_t))
#define LIMIT 4096

static void *dsts[BLOCKS], *srcs[BLOCKS];
static size_t rooms[BLOCKS], sizes[BLOCKS];

int main(void)
{
    char *pool, *cache;
    size_t first = 0;
    aclrtMemcpyBatchAttr up = {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
    begin();
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
    for (size_t b = 0; b < BLOCKS; b += LIMIT) {
        size_t count = BLOCKS - b < LIMIT ? BLOCKS - b : LIMIT;
        logged("aclrtMemcpyBatchV2",
               aclrtMemcpyBatchV2(dsts + b, rooms + b, srcs + b, sizes + b, count, &up, &first, 1));
    }
    size_t wrong = wrong_on_device(cache, BLOCKS * WORDS, 4);
    OK(aclrtFree(cache));
    OK(aclrtFreeHost(pool));
    end();
    return verdict(wrong / WORDS, BLOCKS, "blocks");
}
