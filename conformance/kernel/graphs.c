// softacl-only
// sanitize: address (the library orders the kernel and the host; the thread sanitizer does not see into it)
// schedules: all
// soc: Ascend910B Ascend910C
/* A captured kernel runs with every run of its graph, and its argument is released with the graph. */
#include "../expect.h"
#include "kernel.h"

#define CELLS 256
#define RUNS 5

static void expect_kernel_tasks(aclmdlRI graph)
{
    aclrtStream streams[2];
    aclmdlRITask tasks[4];
    uint32_t count = 2;
    REQUIRE_OK(aclmdlRIGetStreams(graph, streams, &count));
    REQUIRE_TRUE(count == 1, "%u streams", count);
    count = 4;
    REQUIRE_OK(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    REQUIRE_TRUE(count == 2, "%u tasks", count);
    aclmdlRITaskType type = ACL_MODEL_RI_TASK_DEFAULT;
    EXPECT_OK(aclmdlRITaskGetType(tasks[0], &type));
    EXPECT_TRUE(type == ACL_MODEL_RI_TASK_KERNEL, "%d", type);
    aclrtLaunchKernelAttrValue value;
    EXPECT_CODE(aclmdlRIKernelTaskGetAttribute(tasks[0], (aclrtLaunchKernelAttrId)1, &value), 207000);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint32_t *device = (uint32_t *)device_memory(CELLS * 4);
    uint32_t *host = (uint32_t *)pinned_memory(CELLS * 4);
    REQUIRE_OK(aclrtMemset(device, CELLS * 4, 0, CELLS * 4));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(launch_scale(stream, device, CELLS, 2, 1));
    EXPECT_OK(launch_scale(stream, device, CELLS, 1, 1));
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_TRUE(count_of(&released) == 0, "%d arguments were released", count_of(&released));
    expect_kernel_tasks(graph);
    uint32_t value = 0;
    for (int run = 0; run < RUNS; run++) {
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        value = value * 2 + 2;
    }
    EXPECT_OK(aclrtMemcpyAsync(host, CELLS * 4, device, CELLS * 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(host[0] == value && host[CELLS - 1] == value, "cells hold %u and %u, not %u", host[0], host[CELLS - 1],
                value);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_TRUE(count_of(&released) == 2, "%d arguments were released", count_of(&released));
    REQUIRE_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtFree(device));
    REQUIRE_OK(aclrtFreeHost(host));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
