/*
 * Uploads the rows of a block table with one batch, then compacts the table: the last row replaces
 * that of a finished request.
 *
 * buggy.c compacts the table while the batch may still be queued, so a mixture of two tables
 * arrives on the device.
 * fixed.c waits for an event recorded after the batch.
 * Modeled on https://github.com/vllm-project/vllm-ascend/pull/12071.
 */
#include "../zoo.h"

#define ROWS 8
#define ENTRIES 256
#define ROW (ENTRIES * sizeof(uint32_t))

int main(void)
{
    uint32_t *table;
    char *device;
    void *dsts[ROWS], *srcs[ROWS];
    size_t rooms[ROWS], sizes[ROWS], first = 0, fail = SIZE_MAX;
    aclrtMemcpyBatchAttr up = {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {0}};
    aclrtStream stream;
    aclrtEvent uploaded;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&uploaded, ACL_EVENT_SYNC));
    OK(aclrtMallocHost((void **)&table, ROWS * ROW));
    OK(aclrtMalloc((void **)&device, ROWS * ROW, ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t r = 0; r < ROWS; r++) {
        fill(table + r * ENTRIES, ENTRIES, 10 + r);
        dsts[r] = device + r * ROW;
        srcs[r] = table + r * ENTRIES;
        rooms[r] = (ROWS - r) * ROW;
        sizes[r] = ROW;
    }
    OK(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, ROWS, &up, &first, 1, &fail, stream));
    OK(aclrtRecordEvent(uploaded, stream));

    OK(aclrtSynchronizeEvent(uploaded));
    /* Request 2 is finished: the last row replaces its row. */
    memcpy(table + 2 * ENTRIES, table + (ROWS - 1) * ENTRIES, ROW);

    OK(aclrtSynchronizeStream(stream));
    size_t wrong = 0;
    for (size_t r = 0; r < ROWS; r++) {
        wrong += wrong_on_device(device + r * ROW, ENTRIES, 10 + r);
    }
    OK(aclrtDestroyEvent(uploaded));
    OK(aclrtFree(device));
    OK(aclrtFreeHost(table));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, ROWS * ENTRIES, "table entries");
}
