// softacl-only
// soc: Ascend910B
// env: SOFTACL_FAULTS=copy@2=stuck; copy@4=stuck; copy@5=stuck
// schedules: all
// expects: L1 S1
/* A stuck step of a graph: waits with a timeout return, and aborting or resetting cancels the run. */
#include "../expect.h"

#define SIZE 64

static uint8_t *pinned, *device;

static aclmdlRI capture(aclrtStream stream)
{
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    aclmdlRI graph = capture(stream);

    fill_pattern(pinned, SIZE, 1);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* copy 1 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* The run is stuck, other streams make progress. */
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* copy 2 */
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    EXPECT_TRUE(stream_is_busy(stream), "the run is not stuck");
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0, SIZE, other));
    EXPECT_OK(aclrtSynchronizeStream(other));

    /* An abort cancels the run before it copies a byte, and the graph can be launched again. */
    EXPECT_OK(aclrtStreamAbort(stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* copy 3 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);

    /* A device abort cancels the run too. */
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* copy 4 */
    EXPECT_OK(aclrtDeviceTaskAbort(0, 1000));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* A reset does not wait for a stuck run. */
    graph = capture(stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* copy 5 */
    REQUIRE_OK(aclrtResetDeviceForce(0));
    EXPECT_OK(aclmdlRIDestroy(graph));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
