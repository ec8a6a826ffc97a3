// soc: Ascend910B
// schedules: all
// softacl-only
/* A sub-graph whose capture failed can be captured again; event
 * records of the first attempt do not belong to the second. */
#include "../expect.h"
#include "graph.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), side = new_stream(), branch = new_stream();
    aclrtEvent event = new_event();
    void *device = device_memory(64);
    aclmdlRI graph = NULL, inner[1] = {NULL}, ended = NULL;
    aclmdlRICaptureStatus status;
    aclmdlRICondHandle condition = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    REQUIRE_OK(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &condition));
    aclmdlRICondTaskParams params = {condition, ACL_MODEL_RI_COND_TYPE_IF, 1, inner};
    REQUIRE_OK(aclmdlRIAddCondTask(params, stream, 0));

    REQUIRE_OK(aclmdlRICaptureToModelRIBegin(side, inner[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    for (int step = 0; step < 5; step++) {
        EXPECT_OK(aclrtMemsetAsync(device, 64, 1, 64, side));
    }
    order_after(branch, side, event);
    EXPECT_OK(aclrtMemsetAsync(device, 64, 1, 64, branch));
    EXPECT_FAILS(aclmdlRICaptureEnd(side, &ended)); /* the branch is not joined back */

    for (int attempt = 0; attempt < 2; attempt++) {
        REQUIRE_OK(aclmdlRICaptureToModelRIBegin(side, inner[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        if (attempt == 0) {
            /* on the capturing stream, which invalidates the capture */
            EXPECT_FAILS(aclrtStreamWaitEvent(side, event));
        } else {
            EXPECT_FAILS(aclrtStreamWaitEvent(branch, event)); /* on another stream, which does not */
        }
        EXPECT_EITHER(aclrtMemsetAsync(device, 64, 2, 64, side), 0, 507903);
        if (attempt == 0) {
            EXPECT_FAILS(aclmdlRICaptureEnd(side, &ended));
        } else {
            EXPECT_OK(aclmdlRICaptureEnd(side, &ended));
        }
    }
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, 64, 2);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(side));
    EXPECT_OK(aclrtDestroyStream(branch));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
