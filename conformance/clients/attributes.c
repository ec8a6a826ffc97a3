// soc: Ascend910B Ascend910C Ascend950
// schedules: all
/* Client usage: batches with one attribute for all items, and with one attribute per item. */
#include "../batch/variants.h"

#define ITEMS 128
#define SIZE 256

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    uint8_t *device = (uint8_t *)device_memory(ITEMS * SIZE);
    void *dsts[ITEMS], *srcs[ITEMS];
    size_t sizes[ITEMS], indexes[ITEMS];
    aclrtMemcpyBatchAttr attrs[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        sizes[i] = SIZE;
        indexes[i] = (size_t)i;
    }
    for (int f = 0; f < VARIANTS; f++) {
        for (int per_item = 0; per_item < 2; per_item++) {
            uint32_t seed = (uint32_t)(10 * f + per_item);
            fill_pattern(pinned, ITEMS * SIZE, seed);
            for (int i = 0; i < ITEMS; i++) { /* scattered: item i goes to block 127 - i */
                dsts[i] = device + (ITEMS - 1 - i) * SIZE;
                srcs[i] = pinned + i * SIZE;
                attrs[i] = host_to_device();
            }
            struct batch b = {dsts, sizes, srcs, sizes, ITEMS, attrs, indexes, per_item ? ITEMS : 1};
            EXPECT_BATCH((enum variant)f, b, stream, 0, SIZE_MAX);
            EXPECT_OK(aclrtSynchronizeStream(stream));
            memset(pinned, 0, ITEMS * SIZE);
            for (int i = 0; i < ITEMS; i++) {
                dsts[i] = pinned + i * SIZE;
                srcs[i] = device + (ITEMS - 1 - i) * SIZE;
                attrs[i] = device_to_host();
            }
            EXPECT_BATCH((enum variant)f, b, stream, 0, SIZE_MAX);
            EXPECT_OK(aclrtSynchronizeStream(stream));
            EXPECT_PATTERN(pinned, ITEMS * SIZE, seed);
        }
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
