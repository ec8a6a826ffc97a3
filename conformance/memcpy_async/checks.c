// soc: all
// schedules: all
// expects: C2 M1
/* aclrtMemcpyAsync and aclrtMemcpyAsyncWithCondition: the check table (1.2) and the order of its rows. */
#include "../expect.h"

#define SIZE 256

typedef aclError (*copy_call)(void *, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream);

static copy_call copy;
static uint8_t *device, *pinned;
static aclrtStream stream, stale;

static void *without_context(void *unused)
{
    (void)unused;
    static uint8_t pageable[SIZE];
    EXPECT_OK(copy(device, SIZE, pinned, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL)); /* 1.2 row 1 before row 7 */
    EXPECT_CODE(copy(NULL, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 100000); /* 1.2 row 2 before row 7 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)6, NULL), 100000); /* 1.2 row 3 before row 7 */
    /* 1.2 row 4 before row 7 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stale), 107017);
    EXPECT_CODE(copy(device, 1, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000); /* 1.2 row 5 before row 7 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 107002); /* 1.2 row 7 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107002); /* 1.2 row 7 */
    /* 1.2 row 7, pageable */
    EXPECT_CODE(copy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107002);
    /* 1.2 row 7 before row 9 */
    EXPECT_CODE(copy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_HOST, stream), 107002);
    /* 1.2 row 7 before rows 10, 11 */
    EXPECT_CODE(copy(pinned, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_HOST, stream), 107002);
    /* 1.2 row 7 before row 11 */
    EXPECT_CODE(copy(device, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 107002);
    return NULL;
}

static void check_table(void)
{
    static uint8_t pageable[SIZE];
    device_fill(device, SIZE, 1);
    fill_pattern(pinned, SIZE, 2);

    EXPECT_OK(copy(NULL, 0, NULL, 0, (aclrtMemcpyKind)42, stale)); /* 1.2 row 1 before all others */
    EXPECT_OK(copy(device, SIZE, pinned, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream)); /* 1.2 row 1 */
    EXPECT_CODE(copy(NULL, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 100000); /* 1.2 row 2 */
    EXPECT_CODE(copy(device, SIZE, NULL, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 100000); /* 1.2 row 2 */
    EXPECT_CODE(copy(NULL, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stale), 100000); /* 1.2 row 2 before row 4 */
    for (int kind = 6; kind <= 10; kind++) {
        EXPECT_CODE(copy(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)kind, stream), 100000);    /* 1.2 row 3 */
    }
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)-1, stream), 100000); /* 1.2 row 3 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)7, stale), 100000); /* 1.2 row 3 before row 4 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stale), 107017); /* 1.2 row 4 */
    /* 1.2 row 4 before row 5 */
    EXPECT_CODE(copy(device, SIZE - 1, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stale), 107017);
    EXPECT_CODE(copy(device, SIZE - 1, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000); /* 1.2 row 5 */
    EXPECT_CODE(copy(device, 0, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000); /* 1.2 row 5, destMax 0 */
    EXPECT_CODE(copy(device, SIZE, pinned, SIZE_MAX, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000); /* 1.2 row 5, huge */
    EXPECT_CODE(copy(pinned, 1, pinned + 8, 2, ACL_MEMCPY_HOST_TO_HOST, stream), 107000); /* 1.2 row 5 before row 10 */
    EXPECT_CODE(copy(device, 1, device, 2, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 107000); /* 1.2 row 5 before row 11 */
    EXPECT_CODE(copy(device, SIZE, pageable, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000); /* 1.2 row 9 */

    /* 1.2 row 10: not supported, and the last error does not change. */
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    EXPECT_CODE(copy(pinned, SIZE / 2, pinned + SIZE / 2, SIZE / 2, ACL_MEMCPY_HOST_TO_HOST, stream), 207000);
    EXPECT_CODE(copy(pinned, SIZE / 2, pinned + SIZE / 2, SIZE / 2, ACL_MEMCPY_DEFAULT, stream), 207000);
    EXPECT_CODE(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0);
    /* 1.2 row 10 before row 11 */
    EXPECT_CODE(copy(pinned, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_HOST, stream), 207000);
    EXPECT_OK(copy(device, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));            /* 1.2 row 11 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_PATTERN(pinned, SIZE, 2);

    in_new_thread(without_context, NULL);

    /* A null stream is the default stream of the current context; destMax may exceed the memory. */
    EXPECT_OK(copy(device, SIZE_MAX, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
}

int main(void)
{
    static uint8_t pageable[SIZE];
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE / 2, pageable + SIZE / 2, SIZE / 2, ACL_MEMCPY_HOST_TO_DEVICE, NULL),
                107002);
    /* row 7 before row 11 */
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    device = device_memory(SIZE);
    pinned = pinned_memory(SIZE);
    stream = new_stream();
    stale = stale_stream();
    copy = aclrtMemcpyAsync;
    check_table();
    copy = aclrtMemcpyAsyncWithCondition; /* 1.3 */
    check_table();
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
