// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// expects: B1
/* A blocking batch has at most 4096 items; asynchronous batches have no such limit. */
#include "variants.h"

#define ITEMS 6000
#define SIZE 16

static void *dsts[ITEMS], *srcs[ITEMS];
static size_t maxs[ITEMS], sizes[ITEMS], indexes[ITEMS];
static aclrtMemcpyBatchAttr attrs[ITEMS];

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    uint8_t *device = (uint8_t *)device_memory(ITEMS * SIZE);
    for (int i = 0; i < ITEMS; i++) {
        dsts[i] = device + i * SIZE;
        srcs[i] = pinned + i * SIZE;
        maxs[i] = sizes[i] = SIZE;
        attrs[i] = host_to_device();
        indexes[i] = (size_t)i;
    }
    struct batch b = {dsts, maxs, srcs, sizes, ITEMS, attrs, indexes, 1};

    for (int f = SYNC; f <= SYNC_V2; f++) {
        enum variant variant = (enum variant)f;
        b.count = 4097;
        EXPECT_BATCH(variant, b, NULL, 107000, SIZE_MAX); /* 1.5 row 12 */
        b.count = 4096;
        fill_pattern(pinned, ITEMS * SIZE, 40 + (uint32_t)f);
        REQUIRE_OK(aclrtMemset(device, ITEMS * SIZE, 0, ITEMS * SIZE));
        EXPECT_BATCH(variant, b, NULL, 0, SIZE_MAX);
        EXPECT_DEVICE_PATTERN(device, 4096 * SIZE, 40 + (uint32_t)f);
        EXPECT_DEVICE_VALUE(device + 4096 * SIZE, (ITEMS - 4096) * SIZE, 0);
    }
    for (int f = ASYNC; f <= ASYNC_V2; f++) {
        enum variant variant = (enum variant)f;
        fill_pattern(pinned, ITEMS * SIZE, 50 + (uint32_t)f);
        b.count = ITEMS;
        b.attr_count = f == ASYNC ? 1 : ITEMS;
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX); /* 1.5 row 12: sync only */
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, ITEMS * SIZE, 50 + (uint32_t)f);
    }
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
