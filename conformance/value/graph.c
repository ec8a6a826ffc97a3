// soc: Ascend910B
// schedules: all
/* Value waits, value writes and cache operations in a captured graph take effect in every run. */
#include "../expect.h"

#define RUNS 3

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint64_t *cells = (uint64_t *)device_memory(16);
    uint8_t *from = (uint8_t *)device_memory(256), *to = (uint8_t *)device_memory(256);
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtValueWait(cells, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    EXPECT_OK(aclrtMemcpyAsync(to, 256, from, 256, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtCmoAsync(to, 256, ACL_RT_CMO_TYPE_PREFETCH, stream));
    EXPECT_OK(aclrtValueWrite(cells, 2, 0, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_DEVICE_VALUE(cells, 16, 0);
    for (uint32_t run = 0; run < RUNS; run++) {
        device_fill(from, 256, 20 + run);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);
        EXPECT_OK(aclrtValueWrite(cells, 1, 0, other));
        EXPECT_OK(aclrtValueWait(cells, 2, ACL_STREAM_WAIT_VALUE_EQ, other));
        EXPECT_OK(aclrtSynchronizeStream(other));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(to, 256, 20 + run);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(cells));
    EXPECT_OK(aclrtFree(from));
    EXPECT_OK(aclrtFree(to));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
