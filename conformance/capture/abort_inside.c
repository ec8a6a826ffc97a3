// soc: Ascend910B Ascend950
// schedules: all
/* aclmdlRIAbort called by a host function or a blocking callback of the graph would wait for itself: it is refused, and
 * the run continues. Another thread can abort the graph. */
#include "../expect.h"
#include "graph.h"

#define SIZE 64

static aclmdlRI graph;
static struct flag code = FLAG_INITIALIZER;

static void abort_graph(void *unused)
{
    (void)unused;
    flag_set(&code, (int)aclmdlRIAbort(graph));
}

static void check_refused(aclrtStream stream, uint8_t *device, int with_callback)
{
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    if (with_callback) {
        EXPECT_OK(aclrtLaunchCallback(abort_graph, NULL, ACL_CALLBACK_BLOCK, stream));
    } else {
        EXPECT_OK(aclrtLaunchHostFunc(stream, abort_graph, NULL));
    }
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0x55, SIZE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    for (int run = 0; run < 2; run++) {
        REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
        flag_set(&code, 0);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        if (with_callback) {
            EXPECT_OK(aclrtProcessReport(60000));
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_TRUE(flag_get(&code) != 0, "the abort did not fail");
        if (on_softacl()) {
            EXPECT_TRUE(flag_get(&code) == 107037, "%d", flag_get(&code));
        }
        EXPECT_DEVICE_VALUE(device, SIZE, 0x55);
        EXPECT_OK(aclmdlRIAbort(graph)); /* not running */
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream functions = new_stream(), callbacks = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    check_refused(functions, device, 0);
    REQUIRE_OK(aclrtSubscribeReport((uint64_t)pthread_self(), callbacks));
    check_refused(callbacks, device, 1);
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), callbacks));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(callbacks));
    EXPECT_OK(aclrtDestroyStream(functions));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
