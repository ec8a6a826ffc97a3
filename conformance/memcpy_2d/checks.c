// soc: all
// schedules: all
// expects: C1 C2
/* 2D copies, blocking and asynchronous: the check table (1.4) and the order of its rows. */
#include "../expect.h"

#define PITCH 64
#define WIDTH 32
#define HEIGHT 4
#define SPAN (PITCH * HEIGHT)
#define MAX_HEIGHT 5242880u
#define MAX_WIDTH 5000000u

static uint8_t *device, *second, *pinned, *pageable;
static aclrtStream stream, stale;

/* Makes the blocking call and, on `stream`, the asynchronous call, and expects one code from both. */
static void expect_both(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind,
                 aclError want, int line)
{
    expect_code(aclrtMemcpy2d(dst, dpitch, src, spitch, width, height, (aclrtMemcpyKind)kind), want, "aclrtMemcpy2d",
                __FILE__, line);
    expect_code(aclrtMemcpy2dAsync(dst, dpitch, src, spitch, width, height, (aclrtMemcpyKind)kind, stream), want,
                "aclrtMemcpy2dAsync", __FILE__, line);
}

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_OK(aclrtMemcpy2d(NULL, 0, NULL, 0, 0, 1, ACL_MEMCPY_HOST_TO_DEVICE)); /* row 1 before 9 */
    /* row 7 before 9 */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_DEVICE_TO_DEVICE), 207000);
    /* 1.4 row 9 */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_HOST_TO_DEVICE), 107002);
    EXPECT_CODE(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_HOST_TO_DEVICE, stream),
                107002);
    EXPECT_CODE(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_HOST_TO_DEVICE, NULL),
                107000);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    stale = stale_stream();
    device = (uint8_t *)device_memory(SPAN);
    second = (uint8_t *)device_memory(SPAN);
    pinned = (uint8_t *)pinned_memory(2 * SPAN);
    pageable = (uint8_t *)pageable_memory(2 * SPAN);
    const int h2d = ACL_MEMCPY_HOST_TO_DEVICE, d2h = ACL_MEMCPY_DEVICE_TO_HOST, d2d = ACL_MEMCPY_DEVICE_TO_DEVICE;
    const int any = ACL_MEMCPY_DEFAULT, h2h = ACL_MEMCPY_HOST_TO_HOST;

    expect_both(NULL, 0, NULL, 0, 0, HEIGHT, 99, 0, __LINE__); /* 1.4 row 1 before all others */
    expect_both(device, PITCH, pinned, PITCH, WIDTH, 0, h2d, 0, __LINE__); /* 1.4 row 1 */
    expect_both(device, PITCH, pinned, PITCH, 0, 0, h2d, 0, __LINE__); /* 1.4 row 1 */
    expect_both(NULL, PITCH, pinned, PITCH, WIDTH, HEIGHT, h2d, 100000, __LINE__); /* 1.4 row 2 */
    expect_both(device, PITCH, NULL, PITCH, WIDTH, HEIGHT, h2d, 100000, __LINE__); /* 1.4 row 2 */
    expect_both(device, PITCH, pinned, WIDTH - 1, WIDTH, HEIGHT, h2d, 100000, __LINE__); /* 1.4 row 3, source pitch */
    /* 1.4 row 3, destination pitch */
    expect_both(device, WIDTH - 1, pinned, PITCH, WIDTH, HEIGHT, h2d, 100000, __LINE__);
    static const int bad_kinds[] = {0, 5, 6, 7, 8, -1};
    for (int i = 0; i < 6; i++) {
        expect_both(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, bad_kinds[i], 100000, __LINE__); /* 1.4 row 4 */
    }
    /* 1.4 row 4 before row 6 */
    expect_both(device, SIZE_MAX, pinned, SIZE_MAX, MAX_WIDTH + 1, HEIGHT, h2h, 100000, __LINE__);
    /* 1.4 row 5 */
    EXPECT_CODE(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)h2d, stale), 107017);
    /* row 4 before row 5 */
    EXPECT_CODE(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)h2h, stale), 100000);
    EXPECT_CODE(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, MAX_HEIGHT + 1, (aclrtMemcpyKind)h2d, stale),
                107017);
    expect_both(device, PITCH, pinned, PITCH, WIDTH, MAX_HEIGHT + 1, h2d, 107000, __LINE__); /* 1.4 row 6 */
    expect_both(device, MAX_WIDTH + 1, pinned, MAX_WIDTH + 1, MAX_WIDTH + 1, 1, h2d, 107000, __LINE__); /* 1.4 row 6 */
    /* row 6 before 7 */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, second, PITCH, WIDTH, MAX_HEIGHT + 1, (aclrtMemcpyKind)d2d), 107000);
    /* 1.4 row 7 */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, second, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)d2d), 207000);
    /* 1.4 row 7 before row 8 */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)d2d), 207000);
    /* 1.4 row 8: corrected to D2D */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, second, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)h2d), 107000);
    /* 1.4 row 8 */
    EXPECT_CODE(aclrtMemcpy2d(device, PITCH, second, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)any), 107000);
    /* 1.4 row 8: corrected to H2H */
    expect_both(pinned, PITCH, pinned + SPAN, PITCH, WIDTH, HEIGHT, h2d, 107000, __LINE__);
    expect_both(pinned, PITCH, pinned + SPAN, PITCH, WIDTH, HEIGHT, any, 107000, __LINE__); /* 1.4 row 8 */
    expect_both(pageable, PITCH, pageable + SPAN, PITCH, WIDTH, HEIGHT, any, 107000, __LINE__); /* 1.4 row 8 */
    expect_both(pageable, PITCH, device, PITCH, WIDTH, HEIGHT, h2d, 107000, __LINE__); /* 1.2 table: D->U refuses H2D */
    expect_both(device, PITCH, pageable, PITCH, WIDTH, HEIGHT, d2h, 107000, __LINE__); /* 1.2 table: U->D refuses D2H */
    in_new_thread(without_context, NULL);

    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    /* 1.4 row 11 */
    EXPECT_CODE(aclrtMemcpy2dAsync(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)h2d, stream), 107003);
    /* not checked for pageable memory */
    EXPECT_OK(aclrtMemcpy2dAsync(device, PITCH, pageable, PITCH, WIDTH, HEIGHT, (aclrtMemcpyKind)h2d, stream));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));

    expect_both(device, PITCH, pinned, PITCH, WIDTH, HEIGHT, d2h, 0, __LINE__); /* a wrong kind is corrected */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(second));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
