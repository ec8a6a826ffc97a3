// softacl-only
// sanitize: address (the library orders the kernel and the host; the thread sanitizer does not see into it)
// schedules: all
// env: SOFTACL_FAULTS=kernel@3=507015
// expects: O1
/* A kernel that returns a code fails its stream: the next wait returns the code, and the message names the kernel. Fault
 * rules fail kernels by their number. */
#include "../expect.h"
#include "kernel.h"

static int fail_with(void *argument)
{
    return (int)(intptr_t)argument;
}

static aclError launch_code(aclrtStream stream, int code)
{
    return softaclLaunchKernel(stream, fail_with, (void *)(intptr_t)code, NULL, NULL, 0, "fail_with");
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    EXPECT_OK(launch_code(stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(launch_code(stream, 507035));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507035);
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != NULL && strstr(message, "kernel fail_with failed with 507035") != NULL, "%s",
                message == NULL ? "no message" : message);
    /* The third kernel does not run: a rule fails it. */
    EXPECT_OK(launch_code(stream, 0));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507015);
    EXPECT_OK(launch_code(stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
