// soc: Ascend910B Ascend310P
// schedules: all
/* While a stream of a context is capturing, the default stream of that context takes no tasks (107031): neither as
 * NULL nor by its handle, in every mode. It can be waited for, and takes tasks again after the last capture. */
#include "../expect.h"
#include "graph.h"

#define SIZE 64

static uint8_t *pinned, *device;
static aclrtEvent event;

static void expect_tasks(aclrtStream on, aclError expected)
{
    static int ran;
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, on), expected);
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, on), expected);
    EXPECT_CODE(aclrtRecordEvent(event, on), expected);
    EXPECT_CODE(aclrtStreamWaitEvent(on, event), expected);
    EXPECT_CODE(aclrtLaunchHostFunc(on, count_up, &ran), expected);
    EXPECT_OK(aclrtSynchronizeStream(on));
    EXPECT_TRUE(!stream_is_busy(on), "busy");
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), second = new_stream(), default_stream = NULL;
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&default_stream));
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    event = new_event();
    aclrtContext primary = NULL, context = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    static const aclmdlRICaptureMode modes[] = {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL,
                                                ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
                                                ACL_MODEL_RI_CAPTURE_MODE_RELAXED};
    for (int i = 0; i < 3; i++) {
        aclmdlRI graph = NULL, other = NULL;
        expect_tasks(NULL, 0);
        expect_tasks(default_stream, 0);
        REQUIRE_OK(aclmdlRICaptureBegin(stream, modes[i]));
        expect_tasks(NULL, 107031);
        expect_tasks(default_stream, 107031);
        expect_tasks(second, 0);
        /* The last of two captures counts. */
        REQUIRE_OK(aclmdlRICaptureBegin(second, modes[i]));
        EXPECT_OK(aclmdlRICaptureEnd(second, &other));
        expect_tasks(NULL, 107031);
        EXPECT_CODE(aclmdlRIExecuteAsync(other, NULL), 107031);
        EXPECT_OK(aclmdlRIExecuteAsync(other, second));
        EXPECT_OK(aclrtSynchronizeStream(second));
        /* The default stream of another context is not affected. */
        REQUIRE_OK(aclrtCreateContext(&context, 0));
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
        EXPECT_OK(aclrtSynchronizeStream(NULL));
        EXPECT_OK(aclrtDestroyContext(context));
        REQUIRE_OK(aclrtSetCurrentContext(primary));
        /* The refusals had no effect on the capture. */
        EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
        expect_tasks(NULL, 0);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, NULL));
        EXPECT_OK(aclrtSynchronizeStream(NULL));
        EXPECT_OK(aclmdlRIDestroy(graph));
        EXPECT_OK(aclmdlRIDestroy(other));
    }
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(second));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
