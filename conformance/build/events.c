// soc: Ascend910B Ascend950
// schedules: all
/* A graph that is built and waits for an event that nothing has recorded behaves as a stream outside graphs, by the kind
 * of the event (4.5): SYNC waits for the next record, Ex does not wait, an event without flags is refused. */
#include "../expect.h"
#include "build.h"

#define SIZE 64

/* A graph that waits for the event and fills the memory. */
static aclmdlRI waiting_graph(aclrtEvent event, void *device, uint8_t value)
{
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    aclrtStream stream = bound_stream(graph, BIND_HEAD);
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, value, SIZE, stream));
    EXPECT_OK(aclmdlRIBuildEnd(graph, NULL));
    release_stream(graph, stream);
    return graph;
}

/* Launches the graph, and sees it wait. */
static void expect_waiting(aclmdlRI graph, aclrtStream launch, void *device)
{
    REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, launch));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(launch, 20), 507046);
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream launch = new_stream(), other = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    aclrtEvent event = NULL;

    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    aclmdlRI graph = waiting_graph(event, device, 0x11);
    expect_waiting(graph, launch, device);
    EXPECT_OK(aclrtRecordEvent(event, other));
    EXPECT_OK(aclrtSynchronizeStream(launch));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x11);
    /* The record remains for later runs. */
    REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x11);
    /* Without a record, an abort ends the wait, and so does the end of the event. */
    EXPECT_OK(aclrtResetEvent(event, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    expect_waiting(graph, launch, device);
    EXPECT_OK(aclmdlRIAbort(graph));
    EXPECT_OK(aclrtSynchronizeStream(launch));
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    expect_waiting(graph, launch, device);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtSynchronizeStream(launch));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x11);
    EXPECT_OK(aclmdlRIDestroy(graph));

    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    graph = waiting_graph(event, device, 0x22);
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x22);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtDestroyEvent(event));

    REQUIRE_OK(aclrtCreateEvent(&event));
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    aclrtStream first = bound_stream(graph, BIND_HEAD), second = bound_stream(graph, BIND_HEAD);
    EXPECT_SOFTACL_CODE(aclrtStreamWaitEvent(second, event), 107000);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0x33, SIZE, first));
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtStreamWaitEvent(second, event));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0x44, SIZE, second));
    EXPECT_OK(aclmdlRIBuildEnd(graph, NULL));
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x44);
    release_stream(graph, first);
    release_stream(graph, second);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtDestroyEvent(event));

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(launch));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
