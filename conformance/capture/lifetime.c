// soc: Ascend910B Ascend310P
// expects: C1 H2 L3 S2
/* Lifetime of a graph: destruction while it runs, and use after
 * its memory is freed, its context destroyed, or its device reset. */
#include "../expect.h"
#include "graph.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

static aclmdlRI capture_upload(void *device, void *pinned, aclrtStream stream)
{
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE), *neighbor = NULL;
    aclmdlRI graph = capture_upload(device, pinned, stream), again = NULL;
    aclmdlRICaptureStatus status;
    uint32_t first = 0, second = 0;

    /* Graphs have distinct ids. */
    again = capture_upload(device, pinned, stream);
    EXPECT_OK(aclmdlRIGetId(graph, &first));
    EXPECT_OK(aclmdlRIGetId(again, &second));
    EXPECT_TRUE(first != second, "%u and %u", first, second);
    EXPECT_FAILS(aclmdlRIGetId(graph, NULL));
    EXPECT_OK(aclmdlRIDestroy(again));
    EXPECT_FAILS(aclmdlRIGetId(again, &second));

    /* 107037: the graph is still running. The whole launch is one task of its stream. */
    fill_pattern(pinned, SIZE, 1);
    gate_close(&gate, stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    gate_await(&gate);
    EXPECT_SOFTACL_CODE(aclmdlRIDestroy(graph), 107037);
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_CODE(aclmdlRIExecute(graph, 20), 507046); /* queued after the blocked run */
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclmdlRIExecute(graph, -1)); /* runs are ordered, so the run that timed out has finished too */
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* A graph under capture can be neither run nor destroyed, and a capturing stream cannot run a graph. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &again));
    EXPECT_FAILS(aclmdlRIExecute(again, -1));
    EXPECT_FAILS(aclmdlRIDestroy(again));
    EXPECT_FAILS(aclmdlRIExecuteAsync(graph, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &again));
    EXPECT_OK(aclmdlRIDestroy(again));

    /* With another context current: 107003 for a stream of the first, 107004 for its graph. */
    aclrtContext primary = NULL, second_context = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&second_context, 0));
    aclrtStream second_stream = new_stream();
    EXPECT_FAILS(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclmdlRIExecuteAsync(graph, second_stream), 107004);
    EXPECT_CODE(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 107003);
    /* Destroying a context ends its captures. */
    REQUIRE_OK(aclmdlRICaptureBegin(second_stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, second_stream));
    EXPECT_OK(aclrtDestroyContext(second_context));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1); /* blocking copies are allowed again */

    /* After memory of the graph is freed, a launch fails and does not write to memory at that address. */
    EXPECT_OK(aclrtFree(device));
    neighbor = (uint8_t *)device_memory(SIZE);
    EXPECT_SOFTACL_CODE(aclmdlRIExecuteAsync(graph, stream), 107000);
    EXPECT_SOFTACL_CODE(aclmdlRIExecute(graph, -1), 107000);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(neighbor, SIZE, 0);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(neighbor));

    /* Memory freed after the launch stays valid until the run has finished, as for any queued copy. */
    device = (uint8_t *)device_memory(SIZE);
    graph = capture_upload(device, pinned, stream);
    gate_close(&gate, stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtFree(device));
    neighbor = (uint8_t *)device_memory(SIZE);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(neighbor, SIZE, 0);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(neighbor));

    /* After a device reset a graph can only be destroyed. */
    device = (uint8_t *)device_memory(SIZE);
    graph = capture_upload(device, pinned, stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    EXPECT_FAILS(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_FAILS(aclmdlRIExecute(graph, -1));
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
