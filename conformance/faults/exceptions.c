// softacl-only
// env: SOFTACL_FAULTS=copy@2=507013; copy@3=507899
// schedules: all
// valgrind: none (passes invalid addresses)
/* Exception callbacks run for every failed task before the wait that reports the failure returns. */
#include "../expect.h"

#define SIZE 64

static int calls, second_calls;
static uint32_t codes[8], streams[8], tasks[8], devices[8], threads[8];

static void record_exception(aclrtExceptionInfo *info)
{
    codes[calls] = aclrtGetErrorCodeFromExceptionInfo(info);
    streams[calls] = aclrtGetStreamIdFromExceptionInfo(info);
    tasks[calls] = aclrtGetTaskIdFromExceptionInfo(info);
    devices[calls] = aclrtGetDeviceIdFromExceptionInfo(info);
    threads[calls] = aclrtGetThreadIdFromExceptionInfo(info);
    calls++;
    /* A copy has no kernel. */
    void *args = NULL;
    uint32_t len = 7;
    aclrtFuncHandle function = NULL;
    EXPECT_CODE(aclrtGetArgsFromExceptionInfo(info, &args, &len), 107000);
    EXPECT_CODE(aclrtGetFuncHandleFromExceptionInfo(info, &function), 107000);
    EXPECT_TRUE(args == NULL && len == 7 && function == NULL, "a refused call has written");
    EXPECT_CODE(aclrtGetArgsFromExceptionInfo(info, NULL, &len), 100000);
    EXPECT_CODE(aclrtGetFuncHandleFromExceptionInfo(info, NULL), 100000);
    /* A callback may make AscendCL calls, and their failures do not invoke it again. */
    EXPECT_CODE(aclrtMemset(NULL, 1, 0, 1), 100000);
}

static void count_exception(aclrtExceptionInfo *info)
{
    (void)info;
    second_calls++;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_CODE(aclrtExceptionInfoCallbackRegister(NULL), 100000);
    EXPECT_FAILS(aclrtExceptionInfoCallbackUnregister(record_exception));
    EXPECT_OK(aclrtSetExceptionInfoCallback(record_exception));
    EXPECT_OK(aclrtExceptionInfoCallbackRegister(count_exception));
    aclrtStream stream = new_stream();
    int32_t id = -1;
    EXPECT_OK(aclrtStreamGetId(stream, &id));
    void *pinned = pinned_memory(SIZE), *device = device_memory(SIZE);
    for (int i = 1; i <= 3; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    /* the wait returns the first failure; the callbacks run for both */
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507013);
    EXPECT_TRUE(calls == 2 && second_calls == 2, "%d and %d", calls, second_calls);
    EXPECT_TRUE(codes[0] == 507013 && codes[1] == 507899, "%u %u", codes[0], codes[1]);
    EXPECT_TRUE(streams[0] == (uint32_t)id && streams[1] == (uint32_t)id, "%u %u, not %d", streams[0], streams[1], id);
    EXPECT_TRUE(tasks[1] == tasks[0] + 1, "%u %u", tasks[0], tasks[1]);
    EXPECT_TRUE(devices[0] == 0 && threads[0] == (uint32_t)gettid(), "%u %u", devices[0], threads[0]);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_CODE(aclrtMemset(NULL, 1, 0, 1), 100000); /* no task */
    EXPECT_TRUE(calls == 2 && second_calls == 2, "%d and %d", calls, second_calls);
    EXPECT_OK(aclrtSetExceptionInfoCallback(NULL));
    EXPECT_OK(aclrtExceptionInfoCallbackUnregister(count_exception));
    EXPECT_FAILS(aclrtExceptionInfoCallbackUnregister(count_exception));
    /* Invalid pointers do not crash. */
    EXPECT_TRUE(aclrtGetErrorCodeFromExceptionInfo(NULL) == UINT32_MAX, "null pointer");
    EXPECT_TRUE(aclrtGetStreamIdFromExceptionInfo((const aclrtExceptionInfo *)8) == UINT32_MAX, "invalid pointer");

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
