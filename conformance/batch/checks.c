// soc: all
// schedules: all
// expects: B1
/* Batch copies: the checks before the runtime layer (1.5 rows 1 to 9), their order, and their effect on failIndex. */
#include "variants.h"

#define SIZE 64
#define ITEMS 3

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtStream stale = stale_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    uint8_t *device = (uint8_t *)device_memory(ITEMS * SIZE);
    void *dsts[ITEMS], *srcs[ITEMS];
    size_t maxs[ITEMS], sizes[ITEMS], indexes[ITEMS] = {0}, zeros[ITEMS] = {0};
    aclrtMemcpyBatchAttr attrs[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        dsts[i] = device + i * SIZE;
        srcs[i] = pinned + i * SIZE;
        maxs[i] = sizes[i] = SIZE;
        attrs[i] = host_to_device();
    }
    struct batch good = {dsts, maxs, srcs, sizes, ITEMS, attrs, indexes, 1};
    int supported = family_has_batches();

    for (int f = 0; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;
        struct batch b = good;

        if (has_fail_index(variant)) {
            EXPECT_CODE(batch_call(variant, good, NULL, stream), 100000); /* 1.5 row 1 */
            b.sizes = zeros;
            EXPECT_CODE(batch_call(variant, b, NULL, stream), 100000); /* 1.5 row 1 before row 4 */
        }

        b = good, b.sizes = NULL;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 2 */
        b = good, b.count = 0;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 3 */
        b = good, b.count = 0, b.sizes = zeros;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 3 before row 4 */
        struct batch empty = {NULL, NULL, NULL, zeros, ITEMS, NULL, NULL, 0};
        EXPECT_BATCH(variant, empty, stream, 0, SIZE_MAX); /* 1.5 row 4 before rows 5, 8, 10 */
        EXPECT_BATCH(variant, empty, is_async(variant) ? stale : NULL, 0, SIZE_MAX); /* 1.5 row 4 before row 9 */

        b = good, b.dsts = NULL;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 5 */
        b = good, b.dest_maxs = NULL;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 5 */
        b = good, b.srcs = NULL;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 5 */
        b = good, b.attrs = NULL;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 5 */
        b = good, b.attr_indexes = NULL;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 5 before row 8 */

        maxs[1] = SIZE - 1;
        /* 1.5 row 6: failIndex stays untouched, although item 1 is wrong */
        EXPECT_BATCH(variant, good, stream, 100000, UNTOUCHED);
        EXPECT_BATCH(variant, good, stale, 100000, UNTOUCHED);  /* 1.5 row 6 before rows 8, 9 */
        maxs[1] = SIZE;

        for (int byte = 0; byte < 16; byte += 5) {
            attrs[0].rsv[byte] = 1;
            EXPECT_BATCH(variant, good, stream, 100000, UNTOUCHED); /* 1.5 row 7 */
            attrs[0].rsv[byte] = 0;
        }
        attrs[1].rsv[15] = 1;
        b = good, b.attr_count = 2;
        indexes[1] = 1;
        EXPECT_BATCH(variant, b, stream, 100000, UNTOUCHED); /* 1.5 row 7, second attribute */
        indexes[1] = 0;
        if (supported) {
            EXPECT_BATCH(variant, good, stream, 0, SIZE_MAX); /* 1.5 row 7: attributes beyond numAttrs are ignored */
        }
        attrs[1].rsv[15] = 0;

        if (!supported) {
            aclrtGetLastError(ACL_RT_THREAD_LEVEL);
            EXPECT_BATCH(variant, good, stream, 207000, UNTOUCHED);        /* 1.5 row 8 */
            EXPECT_CODE(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 207000); /* 1.5 row 8: the last error is set */
            EXPECT_BATCH(variant, good, stale, 207000, UNTOUCHED);         /* 1.5 row 8 before row 9 */
            b = good, b.attr_count = 0;
            EXPECT_BATCH(variant, b, stream, 207000, UNTOUCHED);           /* 1.5 row 8 before row 10 */
            continue;
        }
        if (is_async(variant)) {
            EXPECT_BATCH(variant, good, stale, 107017, UNTOUCHED); /* 1.5 row 9 */
            b = good, b.attr_count = 0;
            EXPECT_BATCH(variant, b, stale, 107017, UNTOUCHED); /* 1.5 row 9 before row 10 */
        }
        EXPECT_BATCH(variant, good, stream, 0, SIZE_MAX);
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
