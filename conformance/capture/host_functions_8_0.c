// soc: Ascend910B
// softacl-only
// env: SOFTACL_CANN=8.0.0
/* CANN up to 8.3 cannot capture aclrtLaunchHostFunc (207000); aclrtLaunchCallback is captured in every version. */
#include "../expect.h"
#include "graph.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static int ran;
    aclrtStream stream = new_stream(), other = new_stream();
    aclmdlRI graph = NULL;
    uint64_t self = (uint64_t)pthread_self();
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_CODE(aclrtLaunchHostFunc(stream, count_up, &ran), 207000);
    EXPECT_OK(aclrtLaunchHostFunc(other, count_up, &ran)); /* not capturing */
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSubscribeReport(self, stream));
    EXPECT_OK(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph)); /* the refusal had no effect on the capture */
    EXPECT_TRUE(count_of(&ran) == 1, "%d calls", count_of(&ran));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    while (count_of(&ran) == 1) {
        EXPECT_OK(aclrtProcessReport(1000));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtUnSubscribeReport(self, stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
