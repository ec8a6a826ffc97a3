/*
 * Uploads packed rows of 3840 bytes with one batch.
 *
 * buggy.c rounds the sizes up to a page, so each entry overwrites the start of the next row. If the
 * entries ran in order, the next entry would repair that; the entries of a batch have no order.
 * fixed.c copies only the bytes of each row.
 */
#include "../zoo.h"

#define ROWS 8
#define STRIDE 3840
#define PADDED 4096 /* on the host, each row has its own page */

int main(void)
{
    char *host, *device;
    void *dsts[ROWS], *srcs[ROWS];
    size_t rooms[ROWS], sizes[ROWS], total = (ROWS - 1) * STRIDE + PADDED, first = 0, fail = SIZE_MAX, wrong = 0;
    aclrtMemcpyBatchAttr up = {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&host, ROWS * PADDED));
    OK(aclrtMalloc((void **)&device, total, ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t r = 0; r < ROWS; r++) {
        fill(host + r * PADDED, PADDED / 4, 0);
        fill(host + r * PADDED, STRIDE / 4, 1 + r);
        dsts[r] = device + r * STRIDE;
        srcs[r] = host + r * PADDED;
        rooms[r] = total - r * STRIDE;
        sizes[r] = STRIDE;
    }
    OK(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, ROWS, &up, &first, 1, &fail, stream));
    OK(aclrtSynchronizeStream(stream));

    for (size_t r = 0; r < ROWS; r++) {
        wrong += wrong_on_device(device + r * STRIDE, STRIDE / 4, 1 + r);
    }
    OK(aclrtFree(device));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, ROWS * STRIDE / 4, "words");
}
