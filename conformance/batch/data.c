// soc: Ascend910B Ascend910C Ascend950
// schedules: all
/* Batch copies move the right bytes: mixed directions, attributes for ranges of items, odd sizes, pageable items. */
#include "variants.h"

#define ITEMS 40
#define STRIDE 1000

static size_t size_of(int i)
{
    return (size_t)(i * 37 % 900 + 1);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * STRIDE);
    uint8_t *pageable = (uint8_t *)pageable_memory(ITEMS * STRIDE);
    uint8_t *device = (uint8_t *)device_memory(ITEMS * STRIDE);
    void *dsts[ITEMS], *srcs[ITEMS];
    size_t maxs[ITEMS], sizes[ITEMS];

    for (int f = 0; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;
        /* 10 items each: pinned to device, device to pinned, pageable to device, device to pageable. */
        aclrtMemcpyBatchAttr attrs[4] = {host_to_device(), device_to_host(), host_to_device(), device_to_host()};
        size_t indexes[4] = {0, 10, 20, 30};
        for (int i = 0; i < ITEMS; i++) {
            uint8_t *host = (i < 20 ? pinned : pageable) + i * STRIDE + i % 7;
            uint8_t *dev = device + i * STRIDE + i % 5;
            int to_device = i / 10 % 2 == 0;
            sizes[i] = size_of(i);
            maxs[i] = sizes[i] + (size_t)(i % 3); /* destMax may exceed the size */
            dsts[i] = to_device ? dev : host;
            srcs[i] = to_device ? host : dev;
            if (to_device) {
                fill_pattern(host, sizes[i], (uint32_t)(1000 * f + i));
                REQUIRE_OK(aclrtMemset(dev - i % 5, STRIDE, 0x33, STRIDE));
            } else {
                memset(host - i % 7, 0x33, STRIDE);
                device_fill(dev, sizes[i], (uint32_t)(1000 * f + i));
            }
        }
        struct batch b = {dsts, maxs, srcs, sizes, ITEMS, attrs, indexes, 4};
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX);
        for (int i = 30; i < 40; i++) { /* pageable destinations are complete on return in every variant */
            EXPECT_PATTERN((uint8_t *)dsts[i], sizes[i], (uint32_t)(1000 * f + i));
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        for (int i = 0; i < ITEMS; i++) {
            uint8_t *bytes = (uint8_t *)pageable_memory(STRIDE);
            size_t lead = (size_t)(i / 10 % 2 == 0 ? i % 5 : i % 7);
            REQUIRE_OK(aclrtMemcpy(bytes, STRIDE, (uint8_t *)dsts[i] - lead, STRIDE, ACL_MEMCPY_DEFAULT));
            EXPECT_VALUE(bytes, lead, 0x33);
            EXPECT_PATTERN(bytes + lead, sizes[i], (uint32_t)(1000 * f + i));
            EXPECT_VALUE(bytes + lead + sizes[i], STRIDE - lead - sizes[i], 0x33);
            free(bytes);
        }
    }
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
