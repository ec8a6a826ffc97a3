// soc: Ascend910B
/* A captured wait starts its timeout with each run: time spent in an aborted run does not count. */
#include "../expect.h"
#include "graph.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtNotify notify = NULL;
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclrtCreateNotify(&notify, 0));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 1));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 100), 507046);
    EXPECT_OK(aclrtStreamAbort(stream));
    /* Let the timeout of the aborted run pass. */
    EXPECT_OK(aclrtWaitAndResetNotify(notify, other, 1));
    EXPECT_CODE(aclrtSynchronizeStream(other), 107020);

    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 100), 507046);
    EXPECT_OK(aclrtRecordNotify(notify, other));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));

    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
