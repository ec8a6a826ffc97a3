// soc: Ascend910B Ascend310P
// misuses: C1 H2 L3 S2
/* The life of a graph: running, memory that is freed, contexts that end, devices that are reset. */
#include "../expect.h"
#include "graph.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

static aclmdlRI upload(void *device, void *pinned, aclrtStream stream)
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
    uint8_t *device = (uint8_t *)device_memory(SIZE), *neighbour = NULL;
    aclmdlRI graph = upload(device, pinned, stream), again = NULL;
    aclmdlRICaptureStatus status;
    uint32_t first = 0, second = 0;

    /* Numbers tell graphs apart. */
    again = upload(device, pinned, stream);
    EXPECT_OK(aclmdlRIGetId(graph, &first));
    EXPECT_OK(aclmdlRIGetId(again, &second));
    EXPECT_TRUE(first != second, "%u and %u", first, second);
    EXPECT_FAILS(aclmdlRIGetId(graph, NULL));
    EXPECT_OK(aclmdlRIDestroy(again));
    EXPECT_FAILS(aclmdlRIGetId(again, &second));

    /* 107037: still running. The whole launch is one piece of work of its stream. */
    fill_pattern(pinned, SIZE, 1);
    gate_close(&gate, stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    gate_await(&gate);
    EXPECT_SOFTACL_CODE(aclmdlRIDestroy(graph), 107037);
    EXPECT_TRUE(stream_is_busy(stream), "held");
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_CODE(aclmdlRIExecute(graph, 20), 507046); /* queued behind the run that is held */
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclmdlRIExecute(graph, -1)); /* runs follow each other: the one that was given up is over, too */
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* A graph that is captured cannot be run or destroyed, and a stream that captures cannot run one. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &again));
    EXPECT_FAILS(aclmdlRIExecute(again, -1));
    EXPECT_FAILS(aclmdlRIDestroy(again));
    EXPECT_FAILS(aclmdlRIExecuteAsync(graph, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &again));
    EXPECT_OK(aclmdlRIDestroy(again));

    /* Another context: 107003 for its stream, 107004 for the graph. */
    aclrtContext primary = NULL, own = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&own, 0));
    aclrtStream theirs = new_stream();
    EXPECT_FAILS(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclmdlRIExecuteAsync(graph, theirs), 107004);
    EXPECT_CODE(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 107003);
    /* It ends while it captures: nothing is left of that. */
    REQUIRE_OK(aclmdlRICaptureBegin(theirs, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, theirs));
    EXPECT_OK(aclrtDestroyContext(own));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1); /* no capture forbids a blocking copy any more */

    /* Memory that the graph names is freed: the launch fails, and no neighbour is touched. */
    EXPECT_OK(aclrtFree(device));
    neighbour = (uint8_t *)device_memory(SIZE);
    EXPECT_SOFTACL_CODE(aclmdlRIExecuteAsync(graph, stream), 107000);
    EXPECT_SOFTACL_CODE(aclmdlRIExecute(graph, -1), 107000);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(neighbour, SIZE, 0);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(neighbour));

    /* Freed after the launch: as for any queued copy, the bytes stay until it is done. */
    device = (uint8_t *)device_memory(SIZE);
    graph = upload(device, pinned, stream);
    gate_close(&gate, stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtFree(device));
    neighbour = (uint8_t *)device_memory(SIZE);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(neighbour, SIZE, 0);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(neighbour));

    /* The device is reset: the graph can only be destroyed. */
    device = (uint8_t *)device_memory(SIZE);
    graph = upload(device, pinned, stream);
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
