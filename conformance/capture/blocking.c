// soc: Ascend910B Ascend910C Ascend950 Ascend310P
// schedules: all
// expects: B1 M1
/* Blocking copies, and asynchronous copies with pageable memory, during a
 * capture: refused unless the capture is relaxed (1.1, 1.2, 1.4, 1.5, 1.8, 4.8). */
#include "../expect.h"
#include "graph.h"

#define SIZE 4096

static uint8_t *pageable, *pinned, *device;
static aclrtStream stream, other;

static aclError batch_of_one(void *host, aclrtStream on, size_t *failed)
{
    void *dsts[] = {device}, *srcs[] = {host};
    size_t sizes[] = {SIZE}, first[] = {0};
    aclrtMemcpyBatchAttr attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    return aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, 1, &attribute, first, 1, failed, on);
}

static void check_blocking_calls(aclError expected)
{
    EXPECT_CODE(aclrtMemcpy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), expected);    /* 1.1 row 10 */
    EXPECT_CODE(aclrtMemcpy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), expected);
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), expected);
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_HOST), expected);
    EXPECT_CODE(aclrtMemset(device, SIZE, 0, SIZE), expected);                                   /* 1.8 */
    EXPECT_CODE(aclrtMemset(pageable, SIZE, 0, SIZE), expected);
    EXPECT_CODE(aclrtMemcpy2d(device, 64, pageable, 64, 32, 4, ACL_MEMCPY_HOST_TO_DEVICE), expected); /* 1.4 row 10 */
    /* Results that are determined before the capture is checked. */
    EXPECT_OK(aclrtMemcpy(NULL, 0, NULL, 0, (aclrtMemcpyKind)77));                               /* 1.1 row 1 */
    EXPECT_CODE(aclrtMemcpy(NULL, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 100000);        /* rows 2, 3 */
    EXPECT_CODE(aclrtMemcpy(device, SIZE, pageable, SIZE, (aclrtMemcpyKind)6), 100000);             /* row 4 */
    EXPECT_CODE(aclrtMemcpy(device, 0, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107000);         /* row 5 */
    EXPECT_CODE(aclrtMemcpy(device, 1, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107000);         /* row 6 */
    EXPECT_OK(aclrtMemcpy(device, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));             /* row 7 */
    EXPECT_OK(aclrtMemset(device, 0, 0, 0));
    EXPECT_CODE(aclrtMemset(NULL, SIZE, 0, SIZE), 100000);
    EXPECT_CODE(aclrtMemcpy2d(device, 64, pageable, 16, 32, 4, ACL_MEMCPY_HOST_TO_DEVICE), 100000); /* 1.4 row 3 */
}

/* Pageable copies on a stream that is not capturing. */
static void check_pageable_calls(aclError expected)
{
    /* 1.2 row 13a */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other), expected);
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEFAULT, other), expected);
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL), expected);
    /* 1.3 */
    EXPECT_CODE(aclrtMemcpyAsyncWithCondition(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, other),
                expected);
    if (family() != FAMILY_310P) {
        size_t failed = 7;
        /* 1.5: every item follows the rule of a single copy */
        EXPECT_CODE(batch_of_one(pageable, other, &failed), expected);
        EXPECT_TRUE(failed == SIZE_MAX, "failIndex %zu", failed);
    }
}

static void check_capturing_calls(void)
{
    /* 1.2 row 13a */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEFAULT, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsyncWithCondition(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    /* row 10 */
    EXPECT_CODE(aclrtMemcpyAsync(pinned, SIZE, pinned + 8, SIZE - 8, ACL_MEMCPY_HOST_TO_HOST, stream), 207000);
    EXPECT_CODE(aclrtMemcpyAsync(device, 1, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000); /* row 5 */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, device, SIZE, ACL_MEMCPY_DEFAULT, stream)); /* row 11 */
    if (family() != FAMILY_310P) {
        size_t failed = 7;
        EXPECT_CODE(batch_of_one(pageable, stream, &failed), 107000);
        EXPECT_OK(batch_of_one(pinned, stream, &failed));
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    other = new_stream();
    pageable = (uint8_t *)pageable_memory(SIZE);
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    static const aclmdlRICaptureMode modes[] = {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL,
                                                ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
                                                ACL_MODEL_RI_CAPTURE_MODE_RELAXED};
    for (int i = 0; i < 3; i++) {
        int relaxed = modes[i] == ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
        aclmdlRI graph = NULL;
        void *memory = NULL;
        REQUIRE_OK(aclmdlRICaptureBegin(stream, modes[i]));
        check_blocking_calls(relaxed ? 0 : 107030);
        check_pageable_calls(relaxed ? 0 : 107041);
        check_capturing_calls(); /* on the capturing stream the results are independent of the mode */
        /* 4.8: allocation and free are allowed in every mode */
        REQUIRE_OK(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        EXPECT_OK(aclrtFree(memory));
        REQUIRE_OK(aclrtMallocHost(&memory, SIZE));
        EXPECT_OK(aclrtFreeHost(memory));
        /* Pinned copies on other streams are unaffected. */
        fill_pattern(pinned, SIZE, 40 + (uint32_t)i);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other));
        EXPECT_OK(aclrtSynchronizeStream(other));
        EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
        EXPECT_DEVICE_PATTERN(device, SIZE, 40 + (uint32_t)i);
        check_blocking_calls(0);
        check_pageable_calls(0);
        EXPECT_OK(aclmdlRIDestroy(graph));
    }
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
