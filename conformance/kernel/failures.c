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

static int exceptions;
static uint32_t exception_code, exception_stream, exception_device;

static void record_exception(aclrtExceptionInfo *info)
{
    exceptions++;
    exception_code = aclrtGetErrorCodeFromExceptionInfo(info);
    exception_stream = aclrtGetStreamIdFromExceptionInfo(info);
    exception_device = aclrtGetDeviceIdFromExceptionInfo(info);
}

/* The callback has run when the wait returns, once for every failed kernel. */
static void expect_exception(int count, uint32_t code, int32_t stream)
{
    EXPECT_TRUE(exceptions == count, "%d exceptions", exceptions);
    EXPECT_TRUE(exception_code == code && exception_stream == (uint32_t)stream && exception_device == 0,
                "code %u, stream %u, device %u", exception_code, exception_stream, exception_device);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    int32_t id = -1;
    EXPECT_OK(aclrtStreamGetId(stream, &id));
    EXPECT_OK(aclrtExceptionInfoCallbackRegister(record_exception));
    EXPECT_OK(launch_code(stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(exceptions == 0, "%d exceptions", exceptions);
    EXPECT_OK(launch_code(stream, 507035));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507035);
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != NULL && strstr(message, "kernel fail_with failed with 507035") != NULL, "%s",
                message == NULL ? "no message" : message);
    expect_exception(1, 507035, id);
    /* The third kernel does not run: a rule fails it. */
    EXPECT_OK(launch_code(stream, 0));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507015);
    expect_exception(2, 507015, id);
    EXPECT_OK(launch_code(stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtExceptionInfoCallbackUnregister(record_exception));
    REQUIRE_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
