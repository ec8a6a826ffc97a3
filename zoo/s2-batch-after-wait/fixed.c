/*
 * Makes a copy stream wait for the model, then offloads blocks with one batch.
 *
 * buggy.c uses the blocking batch call, which is not ordered with any stream and reads old data.
 * fixed.c submits the batch to the copy stream and waits for it.
 */
#include "../zoo.h"

#define BLOCKS 16
#define WORDS 1024
#define BLOCK (WORDS * sizeof(uint32_t))

int main(void)
{
    char *cache, *host;
    void *dsts[BLOCKS], *srcs[BLOCKS];
    size_t rooms[BLOCKS], sizes[BLOCKS], first = 0, fail = SIZE_MAX;
    aclrtMemcpyBatchAttr down = {{0, ACL_MEM_LOCATION_TYPE_HOST}, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0}};
    aclrtStream compute, copy;
    aclrtEvent computed;
    begin();
    OK(aclrtCreateStream(&compute));
    OK(aclrtCreateStream(&copy));
    OK(aclrtCreateEventExWithFlag(&computed, ACL_EVENT_SYNC));
    OK(aclrtMalloc((void **)&cache, BLOCKS * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(cache, BLOCKS * BLOCK, 0, BLOCKS * BLOCK));
    OK(aclrtMallocHost((void **)&host, BLOCKS * BLOCK));
    for (size_t b = 0; b < BLOCKS; b++) {
        dsts[b] = host + b * BLOCK;
        srcs[b] = cache + b * BLOCK;
        rooms[b] = (BLOCKS - b) * BLOCK;
        sizes[b] = BLOCK;
    }

    OK(aclrtMemsetAsync(cache, BLOCKS * BLOCK, 0x55, BLOCKS * BLOCK, compute));
    OK(aclrtRecordEvent(computed, compute));
    OK(aclrtStreamWaitEvent(copy, computed));
    OK(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, BLOCKS, &down, &first, 1, &fail, copy));
    OK(aclrtSynchronizeStream(copy));
    size_t wrong = wrong_words(host, BLOCKS * WORDS, 0x55555555);

    OK(aclrtSynchronizeStream(copy));
    OK(aclrtDestroyEvent(computed));
    OK(aclrtFree(cache));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(copy));
    OK(aclrtDestroyStream(compute));
    end();
    return verdict(wrong, BLOCKS * WORDS, "words");
}
