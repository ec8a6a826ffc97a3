// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// expects: B1 C1 C2 S1
/* Batch copies: the checks of the runtime layer (1.5 rows 10 to 14 and 16), which set failIndex to SIZE_MAX. */
#include "variants.h"

#define SIZE 64
#define ITEMS 4

static struct batch good;
static aclrtStream stream;

static void *without_context(void *unused)
{
    (void)unused;
    struct batch b = good;
    EXPECT_BATCH(SYNC, good, NULL, 0, SIZE_MAX);        /* 1.5: the sync variants need no current context */
    EXPECT_BATCH(SYNC_V2, good, NULL, 0, SIZE_MAX);
    EXPECT_BATCH(ASYNC, good, stream, 107002, SIZE_MAX); /* 1.5 row 14 */
    EXPECT_BATCH(ASYNC_V2, good, stream, 107002, SIZE_MAX);
    b.attr_count = 0;
    EXPECT_BATCH(ASYNC, b, stream, 107000, SIZE_MAX); /* 1.5 row 10 before row 14 */
    b = good, b.attr_count = ITEMS + 1;
    EXPECT_BATCH(ASYNC, b, stream, 107000, SIZE_MAX); /* 1.5 row 11 before row 14 */
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    uint8_t *device = (uint8_t *)device_memory(ITEMS * SIZE);
    void *dsts[ITEMS], *srcs[ITEMS];
    size_t maxs[ITEMS], sizes[ITEMS], indexes[ITEMS + 1];
    aclrtMemcpyBatchAttr attrs[ITEMS + 1];
    for (int i = 0; i < ITEMS; i++) {
        dsts[i] = device + i * SIZE;
        srcs[i] = pinned + i * SIZE;
        maxs[i] = sizes[i] = SIZE;
    }
    for (int i = 0; i <= ITEMS; i++) {
        attrs[i] = host_to_device();
        indexes[i] = (size_t)i;
    }
    struct batch all = {dsts, maxs, srcs, sizes, ITEMS, attrs, indexes, 1};
    good = all;

    for (int f = 0; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;
        struct batch b = good;
        b.attr_count = 0;
        EXPECT_BATCH(variant, b, stream, 107000, SIZE_MAX); /* 1.5 row 10 */
        b.attr_count = ITEMS + 1;
        EXPECT_BATCH(variant, b, stream, 107000, SIZE_MAX); /* 1.5 row 11 */
        b.attr_count = ITEMS;
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX); /* as many attributes as items */

        static const size_t wrong[][3] = {
            {1, 2, 3}, /* does not start at 0 */
            {0, 0, 1}, /* not strictly increasing */
            {0, 2, 1}, /* decreasing */
            {0, 1, 4}, /* beyond the last item */
            {0, 1, SIZE_MAX},
        };
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            size_t indexes_copy[3] = {wrong[w][0], wrong[w][1], wrong[w][2]};
            b = good, b.attr_indexes = indexes_copy, b.attr_count = 3;
            EXPECT_BATCH(variant, b, stream, 107000, SIZE_MAX); /* 1.5 row 13 */
        }
        size_t one = 1;
        b = good, b.attr_indexes = &one, b.attr_count = 1;
        EXPECT_BATCH(variant, b, stream, 107000, SIZE_MAX); /* 1.5 row 13, single attribute */
        EXPECT_BATCH(variant, good, NULL, 0, SIZE_MAX);     /* a null stream is the default stream */
        EXPECT_OK(aclrtSynchronizeDevice());
    }
    in_new_thread(without_context, NULL);

    /* 1.5 row 16: an error that no item causes. */
    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_BATCH(ASYNC, good, stream, 107003, SIZE_MAX);
    EXPECT_BATCH(ASYNC_V2, good, stream, 107003, SIZE_MAX);
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
