/*
 * Offloads and reloads scattered KV cache blocks with aclrtMemcpyBatchAsync.
 *
 * One call copies many blocks. An attribute describes the locations of source and destination;
 * attrsIndexes gives the first entry to which each attribute applies. If an entry is refused,
 * failIndex is its index.
 *
 * On chips without batch copies (310P, 310B, 910) the call returns 207000. A portable program then
 * makes the copies one by one, as move() does.
 */
#include "common.h"

#define BLOCK 16384
#define SLOTS 32 /* blocks in the cache on the device */
#define MOVED 8  /* blocks per call */

static void move(void **dst, void **src, aclrtMemcpyBatchAttr attr, aclrtStream stream)
{
    size_t sizes[MOVED], first = 0, fail = SIZE_MAX;
    for (int i = 0; i < MOVED; i++) {
        sizes[i] = BLOCK;
    }
    /* destMaxs and sizes may be the same array: each block exactly fills its destination. */
    aclError code = aclrtMemcpyBatchAsync(dst, sizes, src, sizes, MOVED, &attr, &first, 1, &fail,
                                          stream);
    if (code != ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
        CHECK(code);
        return;
    }
    for (int i = 0; i < MOVED; i++) {
        CHECK(aclrtMemcpyAsync(dst[i], BLOCK, src[i], BLOCK, ACL_MEMCPY_DEFAULT, stream));
    }
}

int main(void)
{
    /* Zero the whole struct: the reserved bytes must be 0. The id of HOST is ignored. */
    aclrtMemcpyBatchAttr out = {
        {0, ACL_MEM_LOCATION_TYPE_HOST}, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0}}; /* dst, src */
    aclrtMemcpyBatchAttr in = {
        {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
    void *slot[MOVED], *saved[MOVED];
    uint8_t *cache, *pool, *host = calloc(SLOTS, BLOCK);
    aclrtStream stream;

    VERIFY(host != NULL);
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc((void **)&cache, SLOTS * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost((void **)&pool, MOVED * BLOCK));
    fill_pattern(host, SLOTS * BLOCK, 1);
    CHECK(aclrtMemcpy(cache, SLOTS * BLOCK, host, SLOTS * BLOCK, ACL_MEMCPY_HOST_TO_DEVICE));

    /* Offload every fifth block, clear the cache, reload. The stream orders the three steps. */
    for (int i = 0; i < MOVED; i++) {
        slot[i] = cache + (size_t)(i * 5 % SLOTS) * BLOCK;
        saved[i] = pool + (size_t)i * BLOCK;
    }
    move(saved, slot, out, stream);
    CHECK(aclrtMemsetAsync(cache, SLOTS * BLOCK, 0, SLOTS * BLOCK, stream));
    move(slot, saved, in, stream);
    CHECK(aclrtSynchronizeStream(stream));

    CHECK(aclrtMemcpy(host, SLOTS * BLOCK, cache, SLOTS * BLOCK, ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t b = 0; b < SLOTS; b++) {
        int moved = 0;
        for (int i = 0; i < MOVED; i++) {
            moved |= (size_t)(i * 5 % SLOTS) == b;
        }
        for (size_t i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
            VERIFY(host[i] == (moved ? pattern_byte(i, 1) : 0));
        }
    }

    /* An error in one entry: its destination is on the host, but `in` specifies the device. */
    size_t sizes[3] = {BLOCK, BLOCK, BLOCK}, first = 0, fail = 77;
    void *dst[3] = {slot[0], slot[1], pool};
    aclError code =
        aclrtMemcpyBatchAsync(dst, sizes, saved, sizes, 3, &in, &first, 1, &fail, stream);
    if (code == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
        printf("04_batch: this chip has no batch copies, used single copies\n");
    } else {
        VERIFY(code == ACL_ERROR_RT_PARAM_INVALID && fail == 2);
        printf("04_batch: %d blocks offloaded and reloaded; entry %zu of an invalid batch was refused\n", MOVED,
               fail);
        /* Entries 0 and 1 may already be queued, except on the 950, which checks all entries first. */
        CHECK(aclrtSynchronizeStream(stream));
    }

    CHECK(aclrtFreeHost(pool));
    CHECK(aclrtFree(cache));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    free(host);
    return 0;
}
