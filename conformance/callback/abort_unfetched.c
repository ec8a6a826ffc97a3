// soc: Ascend910B
// softacl-only
// schedules: all
/* A stream that waits for a callback which no thread ever fetches can be aborted, and used afterwards. Found by fuzzing. */
#include "../expect.h"

static void never(void *argument)
{
    *(int *)argument = 1;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int called = 0;
    aclrtStream stream = new_stream();
    /* A thread that does not exist. */
    REQUIRE_OK(aclrtSubscribeReport(4711, stream));
    REQUIRE_OK(aclrtLaunchCallback(never, &called, ACL_CALLBACK_BLOCK, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    REQUIRE_OK(aclrtStreamAbort(stream));
    EXPECT_CODE(called, 0);
    REQUIRE_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtUnSubscribeReport(4711, stream));
    REQUIRE_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
