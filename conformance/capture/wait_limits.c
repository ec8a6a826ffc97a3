// soc: Ascend910B Ascend310P
// softacl-only
/* A wait inside a graph that takes longer than its limit fails the run: the synchronize returns 507011, once, and the
 * next run waits again. */
#include "../expect.h"
#include "graph.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtNotify notify = NULL;
    aclmdlRI graph = NULL;
    static int ran;
    REQUIRE_OK(aclrtCreateNotify(&notify, 0));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 1)); /* second */
    EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507011);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 1, "later tasks of the run did not run");
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtRecordNotify(notify, other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 2, "%d runs", count_of(&ran));
    EXPECT_CODE(aclmdlRIExecute(graph, -1), 507011);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
