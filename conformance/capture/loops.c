// soc: Ascend910B Ascend910C
// schedules: all
// softacl-only
// expects: S1
/* A WHILE loop whose condition is cleared by another stream, by a later call, or by another loop. It keeps iterating
 * until then and does not stop other streams from making progress. */
#include "../expect.h"
#include "graph.h"

static uint8_t *device;

/* Captures a graph that repeats `body` while its condition value, initially 1, is not 0. */
static aclmdlRI capture_loop(aclrtStream stream, aclrtStream side, uint64_t **value, void (*body)(aclrtStream))
{
    aclmdlRI graph = NULL, inner[1] = {NULL}, ended = NULL;
    aclmdlRICaptureStatus status;
    aclmdlRICondHandle condition = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    REQUIRE_OK(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &condition));
    REQUIRE_OK(aclmdlRICondHandleGetCondPtr(condition, value));
    aclmdlRICondTaskParams params = {condition, ACL_MODEL_RI_COND_TYPE_WHILE, 1, inner};
    REQUIRE_OK(aclmdlRIAddCondTask(params, stream, 0));
    REQUIRE_OK(aclmdlRICaptureToModelRIBegin(side, inner[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    body(side);
    EXPECT_OK(aclmdlRICaptureEnd(side, &ended));
    EXPECT_OK(aclrtMemsetAsync(device + 128, 64, 7, 64, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

static void write_mark(aclrtStream stream)
{
    EXPECT_OK(aclrtMemsetAsync(device, 64, 1, 64, stream));
}

static uint64_t *other_value;

/* Loop body whose second iteration clears the condition of another loop. */
static void clear_other_loop(aclrtStream stream)
{
    EXPECT_OK(aclrtMemcpyAsync(other_value, 8, device + 256, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemsetAsync(device + 256, 8, 0, 8, stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream(), side = new_stream();
    uint64_t *value = NULL, *first_value = NULL;
    device = (uint8_t *)device_memory(4096);
    EXPECT_OK(aclrtMemset(device, 4096, 0, 4096));

    aclmdlRI graph = capture_loop(stream, side, &value, write_mark);
    for (int round = 0; round < 3; round++) {
        EXPECT_OK(aclrtMemset(device, 256, 0, 256));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
        EXPECT_OK(aclrtMemsetAsync(value, 8, 0, 8, other));
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
        EXPECT_DEVICE_VALUE(device, 64, 1);
        EXPECT_DEVICE_VALUE(device + 128, 64, 7);
    }
    /* Aborting the stream ends an endless loop. */
    EXPECT_OK(aclrtMemset(device, 256, 0, 256));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    EXPECT_OK(aclrtStreamAbort(stream));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(other, 20000));

    aclmdlRI second = capture_loop(other, side, &other_value, write_mark);
    aclmdlRI first = capture_loop(stream, side, &first_value, clear_other_loop);
    EXPECT_OK(aclrtMemset(device + 256, 8, 1, 1));
    EXPECT_OK(aclmdlRIExecuteAsync(first, stream));
    EXPECT_OK(aclmdlRIExecuteAsync(second, other));
    EXPECT_OK(aclrtMemsetAsync(first_value, 8, 0, 8, other));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(other, 20000));

    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclmdlRIDestroy(first));
    EXPECT_OK(aclmdlRIDestroy(second));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(side));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
