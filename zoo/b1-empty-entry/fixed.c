/*
 * Uploads the new tokens of 8 requests with one asynchronous batch. Request 5 has no new tokens.
 *
 * buggy.c passes an entry of size 0 for it. The call refuses that entry: the entries before it are
 * queued, those after it are not.
 * fixed.c leaves empty entries out of the batch.
 */
#include "../zoo.h"

#define REQUESTS 8
#define WORDS 64
#define ROW (WORDS * sizeof(uint32_t))

int main(void)
{
    char *host, *device;
    void *dsts[REQUESTS], *srcs[REQUESTS];
    size_t rooms[REQUESTS], sizes[REQUESTS], count = 0, first = 0, fail = SIZE_MAX, wrong = 0;
    aclrtMemcpyBatchAttr up = {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&host, REQUESTS * ROW));
    OK(aclrtMalloc((void **)&device, REQUESTS * ROW, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(device, REQUESTS * ROW, 0, REQUESTS * ROW));
    fill(host, REQUESTS * WORDS, 4);
    for (size_t r = 0; r < REQUESTS; r++) {
        size_t new_tokens = r == 5 ? 0 : ROW;
        if (new_tokens == 0) {
            continue;
        }
        dsts[count] = device + r * ROW;
        srcs[count] = host + r * ROW;
        rooms[count] = (REQUESTS - r) * ROW;
        sizes[count++] = new_tokens;
    }
    logged("aclrtMemcpyBatchAsync",
           aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, count, &up, &first, 1, &fail, stream));
    OK(aclrtSynchronizeStream(stream));

    for (size_t r = 0; r < REQUESTS; r++) {
        wrong += wrong_on_device(device + r * ROW, WORDS, r == 5 ? 0 : 4) != 0;
    }
    OK(aclrtFree(device));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, REQUESTS, "requests");
}
