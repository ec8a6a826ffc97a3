// soc: Ascend910B Ascend910C Ascend950 Ascend310P
// schedules: all
/* Captured tasks do not run during the capture; every launch of the graph runs all of them in order. */
#include "../expect.h"
#include "graph.h"

#define SIZE (64 * 1024)
#define LARGE (3 * 1024 * 1024)

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *input = (uint8_t *)pinned_memory(LARGE), *output = (uint8_t *)pinned_memory(LARGE);
    uint8_t *first = (uint8_t *)device_memory(LARGE), *second = (uint8_t *)device_memory(LARGE);
    static int ran;

    /* A chain in which each copy depends on the one before it. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemcpyAsync(first, LARGE, input, LARGE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(second, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(second + SIZE, LARGE - SIZE, first + SIZE, LARGE - SIZE, ACL_MEMCPY_DEFAULT, stream));
    EXPECT_OK(aclrtMemcpyAsync(output, LARGE, second, LARGE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemsetAsync(second, LARGE, 0x5a, 16, stream));
    EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_VALUE(output, LARGE, 0); /* no task ran */
    EXPECT_TRUE(count_of(&ran) == 0, "%d", count_of(&ran));

    /* Every run reads the current contents, in stream order with the launch. */
    for (uint32_t seed = 1; seed <= 5; seed++) {
        fill_pattern(input, LARGE, seed);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, seed % 2 == 0 ? stream : other));
        EXPECT_OK(aclrtSynchronizeStream(seed % 2 == 0 ? stream : other));
        EXPECT_PATTERN(output, LARGE, seed);
        EXPECT_DEVICE_VALUE(second, 16, 0x5a);
        EXPECT_TRUE(count_of(&ran) == (int)seed, "%d runs", count_of(&ran));
    }
    fill_pattern(input, LARGE, 6);
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_PATTERN(output, LARGE, 6);
    fill_pattern(input, LARGE, 7);
    EXPECT_OK(aclmdlRIExecute(graph, 60000));
    EXPECT_PATTERN(output, LARGE, 7);

    /* Several consecutive launches between other tasks keep stream order. */
    memset(output, 0, LARGE);
    REQUIRE_OK(aclrtMemsetAsync(first, LARGE, 0x11, LARGE, stream));
    for (int i = 0; i < 10; i++) {
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    }
    EXPECT_OK(aclrtMemcpyAsync(output, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemsetAsync(second, SIZE, 0x22, SIZE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_VALUE(output, 16, 0x5a);
    EXPECT_TRUE(verify_pattern(output, 16, 7) != 16, "the memset did not run last");
    for (size_t i = 16; i < LARGE; i++) {
        if (output[i] != pattern_byte(i, 7)) {
            EXPECT_TRUE(0, "byte %zu", i);
            break;
        }
    }
    EXPECT_DEVICE_VALUE(second, SIZE, 0x22);
    EXPECT_TRUE(count_of(&ran) == 17, "%d runs", count_of(&ran));
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* 1.2: kind 5 reads the source during the call, that is, during the capture. */
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    fill_pattern(pageable, SIZE, 9);
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    memset(pageable, 0, SIZE);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(aclrtMemset(first, SIZE, 0, SIZE));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(first, SIZE, 9);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* 1.4: a 2D copy. */
    fill_pattern(input, SIZE, 11);
    REQUIRE_OK(aclrtMemset(first, SIZE, 0, SIZE));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemcpy2dAsync(first, 128, input, 64, 64, 100, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    uint8_t *rows = device_bytes(first, SIZE);
    for (size_t row = 0; row < 100; row++) {
        EXPECT_TRUE(memcmp(rows + 128 * row, input + 64 * row, 64) == 0, "row %zu", row);
        EXPECT_VALUE(rows + 128 * row + 64, 64, 0);
    }
    free(rows);
    EXPECT_OK(aclmdlRIDestroy(graph));

    free(pageable);
    EXPECT_OK(aclrtFreeHost(input));
    EXPECT_OK(aclrtFreeHost(output));
    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
