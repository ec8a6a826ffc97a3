// softacl-only
// soc: Ascend910B
// env: SOFTACL_FAULTS=buffer[size>=20000]@2=fail
// schedules: all
// expects: R1
/* Each run of a graph allocates a list for a captured batch, whose length the program chose. If that allocation fails,
 * the wait returns 507011, as for every failure inside a graph, and the process continues. */
#include "../batch/variants.h"

/* Longer than the span lists that the library recycles. */
#define ENTRIES 1000
#define SIZE 16

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ENTRIES * SIZE), *device = (uint8_t *)device_memory(ENTRIES * SIZE);
    static void *dsts[ENTRIES], *srcs[ENTRIES];
    static size_t sizes[ENTRIES];
    size_t indexes[1] = {0}, index = 0;
    aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
    for (size_t i = 0; i < ENTRIES; i++) {
        dsts[i] = device + i * SIZE;
        srcs[i] = pinned + (ENTRIES - 1 - i) * SIZE; /* reversed, so that adjacent entries cannot be merged */
        sizes[i] = SIZE;
    }
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    /* buffer 1 */
    EXPECT_OK(aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, ENTRIES, attrs, indexes, 1, &index, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    static const aclError expected[] = {507011, 0, 0};
    EXPECT_OK(aclrtMemset(device, ENTRIES * SIZE, 0, ENTRIES * SIZE));
    for (uint32_t run = 0; run < 3; run++) {
        memset(pinned, (int)run + 1, ENTRIES * SIZE);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_CODE(aclrtSynchronizeStream(stream), expected[run]);
        EXPECT_DEVICE_VALUE(device, ENTRIES * SIZE, expected[run] == 0 ? (int)run + 1 : 0);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
