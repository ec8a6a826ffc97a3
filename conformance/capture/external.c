// soc: Ascend910B
// schedules: all
// expects: H3 S2
/* ACL_EVENT_EXTERNAL events synchronize a graph with streams outside it. */
#include "../expect.h"
#include "graph.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *output = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    aclrtEvent start = NULL, done = NULL;
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclrtCreateEventWithFlag(&start, ACL_EVENT_EXTERNAL));
    REQUIRE_OK(aclrtCreateEventWithFlag(&done, ACL_EVENT_EXTERNAL));

    /* Each run waits until `start` is recorded outside the graph, resets it, and records `done`. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtStreamWaitEvent(stream, start));
    EXPECT_OK(aclrtResetEvent(start, stream));
    EXPECT_OK(aclrtMemcpyAsync(output, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtRecordEvent(done, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_CODE(aclrtSynchronizeEvent(start), 207000); /* 4.5 */

    for (uint32_t seed = 1; seed <= 4; seed++) {
        device_fill(device, SIZE, 100);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_TRUE(stream_is_busy(stream), "run %u waits", seed);
        device_fill(device, SIZE, seed);
        EXPECT_OK(aclrtRecordEvent(start, other));
        EXPECT_OK(aclrtStreamWaitEvent(other, done));
        EXPECT_OK(aclrtSynchronizeStream(other));
        EXPECT_PATTERN(output, SIZE, seed);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_OK(aclrtResetEvent(done, other));
        EXPECT_OK(aclrtSynchronizeStream(other));
    }
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* Ordinary events, made external by the flags of the record and wait calls. */
    aclrtEvent before = new_event(), after = new_event();
    aclrtEventRecordedStatus status;
    EXPECT_CODE(aclrtRecordEventWithFlag(after, stream, 2), 100000);
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtStreamWaitEventWithFlag(stream, before, 0, ACL_EVENT_WAIT_EXTERNAL));
    EXPECT_OK(aclrtMemcpyAsync(output, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtRecordEventWithFlag(after, stream, ACL_EVENT_RECORD_EXTERNAL));
    EXPECT_OK(aclrtQueryEventStatus(after, &status)); /* an external record is not captured, so the host may query it */
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    uint8_t *input = (uint8_t *)pinned_memory(SIZE);
    for (uint32_t seed = 10; seed <= 13; seed++) {
        fill_pattern(input, SIZE, seed);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, input, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other));
        EXPECT_OK(aclrtRecordEvent(before, other));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* ordered after the upload by the event only */
        EXPECT_OK(aclrtSynchronizeEvent(after));
        EXPECT_PATTERN(output, SIZE, seed);
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFreeHost(input));
    EXPECT_OK(aclrtDestroyEvent(before));
    EXPECT_OK(aclrtDestroyEvent(after));
    EXPECT_OK(aclrtDestroyEvent(start));
    EXPECT_OK(aclrtDestroyEvent(done));
    EXPECT_OK(aclrtFreeHost(output));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
