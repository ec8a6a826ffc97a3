// soc: Ascend910B Ascend950
// schedules: all
/* aclmdlRIAbort stops the runs of a graph: tasks that have not started are dropped, the stream that launched it
 * continues, and the graph can run again. */
#include "../expect.h"
#include "graph.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *cell = (uint8_t *)device_memory(8), *device = (uint8_t *)device_memory(64);
    aclmdlRI graph = NULL;
    aclrtEvent start = NULL;
    uint64_t one = 1, zero = 0;
    REQUIRE_OK(aclrtCreateEventWithFlag(&start, ACL_EVENT_EXTERNAL));
    for (int with_event = 0; with_event < 2; with_event++) {
        REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        if (with_event) {
            EXPECT_OK(aclrtStreamWaitEvent(stream, start));
        } else {
            EXPECT_OK(aclrtValueWait(cell, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
        }
        EXPECT_OK(aclrtMemsetAsync(device, 64, 0x55, 64, stream));
        aclmdlRI capturing = NULL;
        aclmdlRICaptureStatus status;
        EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &capturing));
        EXPECT_FAILS(aclmdlRIAbort(capturing));
        REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
        EXPECT_OK(aclmdlRIAbort(graph)); /* not running: without effect */
        REQUIRE_OK(aclrtMemset(device, 64, 0, 64));
        REQUIRE_OK(aclrtMemcpy(cell, 8, &zero, 8, ACL_MEMCPY_HOST_TO_DEVICE));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtMemsetAsync(device + 32, 32, 0x66, 32, stream));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
        EXPECT_OK(aclmdlRIAbort(graph));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_VALUE(device, 32, 0);
        EXPECT_DEVICE_VALUE(device + 32, 32, 0x66); /* the stream continued */
        REQUIRE_OK(aclrtMemcpy(cell, 8, &one, 8, ACL_MEMCPY_HOST_TO_DEVICE));
        if (with_event) {
            EXPECT_OK(aclrtRecordEvent(start, NULL));
        }
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_VALUE(device, 64, 0x55);
        EXPECT_OK(aclmdlRIDestroy(graph));
        EXPECT_FAILS(aclmdlRIAbort(graph));
    }
    EXPECT_OK(aclrtDestroyEvent(start));
    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
