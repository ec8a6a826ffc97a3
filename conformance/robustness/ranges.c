// soc: Ascend910B Ascend950 Ascend310P Ascend310B
// softacl-only
// schedules: all
// expects: B1 M1
/* A range that exceeds its allocation on either side, by one byte or by
 * many, is refused by the call, and neighboring allocations stay unchanged. */
#include "../batch/variants.h"

#define SIZE 4096

static uint8_t *buffers[3]; /* the ranges start in the middle one */
static uint8_t *pinned, *pageable;
static aclrtStream stream;

static void expect_refused(uint8_t *start, size_t size)
{
    EXPECT_CODE(aclrtMemcpy(start, size, pageable, size, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_CODE(aclrtMemcpy(pageable, size, start, size, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(start, size, pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pinned, size, start, size, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(start, size, pageable, size, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pageable, size, start, size, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(start, size, pageable, size, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemset(start, size, 0xBD, size), 107000);
    EXPECT_CODE(aclrtMemsetAsync(start, size, 0xBD, size, stream), 107000);
    EXPECT_FAILS(aclrtMemcpy2d(start, size, pageable, size, size, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_FAILS(aclrtMemcpy2dAsync(start, size, pinned, size, size, 1, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    if (family_has_batches()) {
        void *dsts[1] = {start}, *srcs[1] = {pinned};
        size_t sizes[1] = {size}, indexes[1] = {0};
        aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
        struct batch b = {dsts, sizes, srcs, sizes, 1, attrs, indexes, 1};
        for (int f = 0; f < VARIANTS; f++) {
            size_t index = 0;
            EXPECT_CODE(batch_call((enum variant)f, b, &index, stream), 107000);
        }
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT_DEVICE_PATTERN(buffers[i], SIZE, i + 1);
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    pinned = (uint8_t *)pinned_memory(4 * SIZE);
    pageable = (uint8_t *)pageable_memory(4 * SIZE);
    for (uint32_t i = 0; i < 3; i++) {
        buffers[i] = (uint8_t *)device_memory(SIZE);
        device_fill(buffers[i], SIZE, i + 1);
    }
    memset(pinned, 0xBD, 4 * SIZE);
    memset(pageable, 0xBD, 4 * SIZE);

    uint8_t *middle = buffers[1];
    expect_refused(middle, SIZE + 1);
    expect_refused(middle + 1, SIZE);
    expect_refused(middle + SIZE - 1, 2);
    expect_refused(middle, 3 * SIZE);
    expect_refused(middle - 1, SIZE); /* starts before the allocation */
    expect_refused(middle - 1, 2);

    /* A 2D copy with one row too many. */
    EXPECT_CODE(aclrtMemcpy2d(middle, 64, pageable, 64, 32, SIZE / 64 + 1, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_CODE(aclrtMemcpy2dAsync(middle, 64, pinned, 64, 32, SIZE / 64 + 1, ACL_MEMCPY_HOST_TO_DEVICE, stream),
                107000);

    /* Device to device, with a wrong source or destination. */
    EXPECT_CODE(aclrtMemcpyAsync(buffers[0], SIZE_MAX, middle, SIZE + 1, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(middle + 8, SIZE_MAX, buffers[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpy(middle + 8, SIZE_MAX, buffers[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 107000);

    /* A range that exceeds pinned memory. */
    EXPECT_FAILS(aclrtMemcpyAsync(middle, SIZE, pinned + 4 * SIZE - 1, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));

    /* Ranges up to the last byte are accepted, and so are overlapping ranges. */
    EXPECT_OK(aclrtMemcpy(middle + SIZE - 1, 1, buffers[2], 1, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_OK(aclrtMemcpyAsync(middle, SIZE, middle + 16, SIZE - 16, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(buffers[0], SIZE, 1);
    EXPECT_DEVICE_PATTERN(buffers[2], SIZE, 3);

    for (int i = 0; i < 3; i++) {
        EXPECT_OK(aclrtFree(buffers[i]));
    }
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
