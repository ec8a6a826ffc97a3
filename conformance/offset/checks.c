// soc: all
// schedules: all
// expects: C1 C2 M1
/* aclrtMemcpyAsyncWithOffset: the checks of the runtime layer (1.7) in order; the upper layer checks nothing. */
#include "../expect.h"

#define SIZE 256
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
#define FOUR_GIB ((size_t)4 << 30)
#define BITS_48 ((size_t)0xFFFFFFFFFFFFu)

static void **dst;
static const void **src;
static aclrtStream stream, stale;

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stale), 107017);
    EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, 1, 0, src, SIZE, 0, INNER, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream), 107002);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    stale = stale_stream();
    uint8_t *source = (uint8_t *)device_memory(SIZE);
    uint8_t *target = (uint8_t *)device_memory(SIZE);
    void *cells = device_memory(2 * sizeof(void *));
    void *addresses[2] = {target, source};
    REQUIRE_OK(aclrtMemcpy(cells, sizeof addresses, addresses, sizeof addresses, ACL_MEMCPY_HOST_TO_DEVICE));
    dst = (void **)cells;
    src = (const void **)cells + 1;

    /* 1.7: count 0 is checked first */
    EXPECT_OK(aclrtMemcpyAsyncWithOffset(NULL, 0, 0, NULL, 0, 0, (aclrtMemcpyKind)99, stale));
    for (int kind = -1; kind < 10; kind++) {
        if (kind != 6) { /* 1.7: the kind is checked before the product and the handle */
            EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, (aclrtMemcpyKind)kind, stream), 107000);
            EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, (aclrtMemcpyKind)kind, stale), 107000);
        }
    }
    if (family() == FAMILY_310B || family() == FAMILY_310P) { /* 1.7: product */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream), 207000);
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stale), 207000);
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(NULL, SIZE, 0, src, SIZE, 0, INNER, stream), 207000);
    } else {
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stale), 107017); /* 1.7: handle */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(NULL, SIZE, 0, src, SIZE, 0, INNER, stale), 107017);
        /* 1.7: null, not 100000 */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(NULL, SIZE, 0, src, SIZE, 0, INNER, stream), 107000);
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, NULL, SIZE, 0, INNER, stream), 107000);
        /* count > destMax */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE - 1, 0, src, SIZE, 0, INNER, stream), 107000);
        /* > 4 GiB */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE_MAX, 0, src, FOUR_GIB + 1, 0, INNER, stream), 107000);
        /* 48 bits */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE_MAX, BITS_48 + 1, src, SIZE, 0, INNER, stream), 107000);
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, BITS_48 + 1, INNER, stream), 107000);
        /* offset >= destMax */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, SIZE, src, 1, 0, INNER, stream), 107000);
        /* offset + count > destMax */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 1, src, SIZE, 0, INNER, stream), 107000);
        in_new_thread(without_context, NULL); /* 1.7: no context */

        aclrtContext primary = NULL, other = NULL;
        REQUIRE_OK(aclrtGetCurrentContext(&primary));
        REQUIRE_OK(aclrtCreateContext(&other, 0));
        /* 1.7: other context */
        EXPECT_CODE(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream), 107003);
        REQUIRE_OK(aclrtSetCurrentContext(primary));
        EXPECT_OK(aclrtDestroyContext(other));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(target, SIZE, 0);
    EXPECT_OK(aclrtFree(cells));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
