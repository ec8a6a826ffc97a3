// softacl-only
// sanitize: address (the library orders the kernel and the host; the thread sanitizer does not see into it)
// schedules: all
// expects: M1
/* A kernel is a task of its stream: it reads what earlier copies wrote, later copies read what it wrote, events order it
 * with other streams, and its argument is released exactly once. */
#include "../expect.h"
#include "kernel.h"

#define CELLS 1024
#define STEPS 50

static void in_stream_order(aclrtStream stream, uint32_t *device, uint32_t *host)
{
    for (size_t i = 0; i < CELLS; i++) {
        host[i] = (uint32_t)i;
    }
    EXPECT_OK(aclrtMemcpyAsync(device, CELLS * 4, host, CELLS * 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    for (uint32_t step = 0; step < STEPS; step++) {
        EXPECT_OK(launch_scale(stream, device, CELLS, 3, step));
    }
    EXPECT_OK(aclrtMemcpyAsync(host, CELLS * 4, device, CELLS * 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (uint32_t i = 0; i < CELLS; i++) {
        uint32_t value = i;
        for (uint32_t step = 0; step < STEPS; step++) {
            value = value * 3 + step;
        }
        EXPECT_TRUE(host[i] == value, "cell %u holds %u, not %u", i, host[i], value);
    }
}

static void across_streams(aclrtStream first, aclrtStream second, uint32_t *device, uint32_t *host)
{
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_OK(aclrtMemsetAsync(device, CELLS * 4, 0, CELLS * 4, first));
    EXPECT_OK(launch_scale(first, device, CELLS, 1, 5));
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtStreamWaitEvent(second, event));
    EXPECT_OK(launch_scale(second, device, CELLS, 10, 1));
    EXPECT_OK(aclrtMemcpyAsync(host, CELLS * 4, device, CELLS * 4, ACL_MEMCPY_DEVICE_TO_HOST, second));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_TRUE(host[0] == 51 && host[CELLS - 1] == 51, "cells hold %u and %u", host[0], host[CELLS - 1]);
    EXPECT_OK(aclrtDestroyEvent(event));
}

/* Whatever fails, the argument is released. */
static void refusals(aclrtStream stream, uint32_t *device)
{
    int before = count_of(&released);
    softaclRange range = {device, CELLS * 4, SOFTACL_WRITE};
    EXPECT_CODE(softaclLaunchKernel(stream, NULL, calloc(1, 1), release_scale, &range, 1, "none"), 100000);
    EXPECT_CODE(softaclLaunchKernel(stream, run_scale, calloc(1, 1), release_scale, &range, 1, NULL), 100000);
    EXPECT_CODE(softaclLaunchKernel(stream, run_scale, calloc(1, 1), release_scale, NULL, 1, "none"), 100000);
    range.access = 4;
    EXPECT_CODE(softaclLaunchKernel(stream, run_scale, calloc(1, 1), release_scale, &range, 1, "none"), 100000);
    range.access = 0;
    EXPECT_CODE(softaclLaunchKernel(stream, run_scale, calloc(1, 1), release_scale, &range, 1, "none"), 100000);
    EXPECT_CODE(softaclLaunchKernel(stream, run_scale, calloc(1, 1), release_scale, (softaclRange *)64, 1, "none"), 100000);
    range = (softaclRange){device, CELLS * 4 + 1, SOFTACL_READ};
    EXPECT_CODE(softaclLaunchKernel(stream, run_scale, calloc(1, 1), release_scale, &range, 1, "none"), 107000);
    range.size = 4;
    EXPECT_CODE(softaclLaunchKernel(stale_stream(), run_scale, calloc(1, 1), release_scale, &range, 1, "none"), 107017);
    EXPECT_TRUE(count_of(&released) == before + 8, "%d arguments were released", count_of(&released) - before);
    /* Without ranges and without a release. */
    static struct scale nothing;
    nothing.cells = device;
    EXPECT_OK(softaclLaunchKernel(stream, run_scale, &nothing, NULL, NULL, 0, "nothing"));
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream();
    uint32_t *device = (uint32_t *)device_memory(CELLS * 4);
    uint32_t *host = (uint32_t *)pinned_memory(CELLS * 4);
    in_stream_order(first, device, host);
    EXPECT_TRUE(count_of(&released) == STEPS, "%d arguments were released", count_of(&released));
    across_streams(first, second, device, host);
    refusals(first, device);
    REQUIRE_OK(aclrtDestroyStream(first));
    REQUIRE_OK(aclrtDestroyStream(second));
    REQUIRE_OK(aclrtFree(device));
    REQUIRE_OK(aclrtFreeHost(host));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
