// soc: all
// schedules: all
/* A graph that is built: the tasks of bound streams run only with the graph, in stream order, and events order the
 * streams, whichever call came first. */
#include "../expect.h"
#include "build.h"

#define SIZE 4096
#define RUNS 4

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream launch = NULL;
    REQUIRE_OK(aclrtCreateStream(&launch));
    uint8_t *input = (uint8_t *)pinned_memory(SIZE), *output = (uint8_t *)pinned_memory(SIZE);
    uint8_t *first = (uint8_t *)device_memory(SIZE), *second = (uint8_t *)device_memory(SIZE);
    aclrtEvent uploaded = NULL, copied = NULL;
    REQUIRE_OK(aclrtCreateEventWithFlag(&uploaded, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventWithFlag(&copied, ACL_EVENT_SYNC));
    static int ran;
    aclmdlRI graph = NULL;

    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    aclrtStream up = bound_stream(graph, BIND_HEAD), across = bound_stream(graph, BIND_HEAD);
    /* The waits are built before the records. */
    EXPECT_OK(aclrtStreamWaitEvent(across, uploaded));
    EXPECT_OK(aclrtMemcpyAsync(second, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, across));
    EXPECT_OK(aclrtRecordEvent(copied, across));
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, input, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, up));
    EXPECT_OK(aclrtRecordEvent(uploaded, up));
    EXPECT_OK(aclrtStreamWaitEvent(up, copied));
    EXPECT_OK(aclrtMemcpyAsync(output, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, up));
    EXPECT_OK(aclrtLaunchHostFunc(up, count_up, &ran));
    EXPECT_OK(aclmdlRIEndTask(graph, up));
    EXPECT_FAILS(aclmdlRIExecute(graph, -1)); /* not complete */
    EXPECT_OK(aclmdlRIBuildEnd(graph, NULL));
    EXPECT_OK(aclrtSynchronizeStream(up));
    EXPECT_TRUE(count_of(&ran) == 0, "a task ran before the graph");
    EXPECT_VALUE(output, SIZE, 0);

    for (uint32_t run = 1; run <= RUNS; run++) {
        fill_pattern(input, SIZE, run);
        if (run % 2 == 0) {
            EXPECT_OK(aclmdlRIExecute(graph, -1));
        } else if (family() == FAMILY_310B || family() == FAMILY_910) {
            EXPECT_OK(aclmdlRIExecute(graph, 60000)); /* no aclmdlRIExecuteAsync on these */
        } else {
            EXPECT_OK(aclmdlRIExecuteAsync(graph, launch));
            EXPECT_OK(aclrtSynchronizeStream(launch));
        }
        EXPECT_PATTERN(output, SIZE, run);
        EXPECT_TRUE(count_of(&ran) == (int)run, "%d runs", count_of(&ran));
    }

    /* A complete graph takes no tasks; the streams are usable again when they are unbound. */
    EXPECT_FAILS(aclrtMemsetAsync(first, SIZE, 1, SIZE, up));
    EXPECT_FAILS(aclrtDestroyStream(up));
    release_stream(graph, up);
    release_stream(graph, across);
    fill_pattern(input, SIZE, 99);
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_PATTERN(output, SIZE, 99);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_FAILS(aclmdlRIExecute(graph, -1));

    EXPECT_OK(aclrtDestroyEvent(uploaded));
    EXPECT_OK(aclrtDestroyEvent(copied));
    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
    EXPECT_OK(aclrtFreeHost(input));
    EXPECT_OK(aclrtFreeHost(output));
    EXPECT_OK(aclrtDestroyStream(launch));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
