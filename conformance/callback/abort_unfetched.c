// soc: Ascend910B
// softacl-only
// schedules: all
/* A stream that waits for a callback which no thread processes can be aborted, and is usable afterwards. */
#include "../expect.h"

static void must_not_run(void *argument)
{
    *(int *)argument = 1;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int called = 0;
    aclrtStream stream = new_stream();
    /* 4711 is not the id of a thread. */
    REQUIRE_OK(aclrtSubscribeReport(4711, stream));
    REQUIRE_OK(aclrtLaunchCallback(must_not_run, &called, ACL_CALLBACK_BLOCK, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    REQUIRE_OK(aclrtStreamAbort(stream));
    EXPECT_CODE(called, 0);
    REQUIRE_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtUnSubscribeReport(4711, stream));
    REQUIRE_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
