// soc: Ascend910B
// softacl-only
// schedules: all
/* A run that waits for a callback which no thread processes can be aborted; the graph runs again afterwards. */
#include "../expect.h"
#include "graph.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static int ran;
    aclrtStream stream = new_stream();
    aclmdlRI graph = NULL;
    uint64_t self = (uint64_t)pthread_self();
    REQUIRE_OK(aclrtSubscribeReport(self, stream));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    REQUIRE_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    REQUIRE_OK(aclrtStreamAbort(stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 0, "the callback ran");
    REQUIRE_OK(aclmdlRIExecuteAsync(graph, stream));
    while (count_of(&ran) == 0) {
        EXPECT_OK(aclrtProcessReport(1000));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 1, "%d runs", count_of(&ran));
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtUnSubscribeReport(self, stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
