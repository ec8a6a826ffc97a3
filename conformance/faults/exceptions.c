// softacl-only
// env: SOFTACL_FAULTS=copy@2=507013; copy@3=507899
// schedules: all
// valgrind: none (gives addresses away that nobody has)
/* Exception callbacks: the program is told of every task that failed before the wait that tells it returns. */
#include "../expect.h"

#define SIZE 64

static int told, second_told;
static uint32_t codes[8], streams[8], tasks[8], devices[8], threads[8];

static void note(aclrtExceptionInfo *info)
{
    codes[told] = aclrtGetErrorCodeFromExceptionInfo(info);
    streams[told] = aclrtGetStreamIdFromExceptionInfo(info);
    tasks[told] = aclrtGetTaskIdFromExceptionInfo(info);
    devices[told] = aclrtGetDeviceIdFromExceptionInfo(info);
    threads[told] = aclrtGetThreadIdFromExceptionInfo(info);
    told++;
    /* A callback may use the interface, and its own failures do not call it again. */
    EXPECT_CODE(aclrtMemset(NULL, 1, 0, 1), 100000);
}

static void note_too(aclrtExceptionInfo *info)
{
    (void)info;
    second_told++;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_CODE(aclrtExceptionInfoCallbackRegister(NULL), 100000);
    EXPECT_FAILS(aclrtExceptionInfoCallbackUnregister(note));
    EXPECT_OK(aclrtSetExceptionInfoCallback(note));
    EXPECT_OK(aclrtExceptionInfoCallbackRegister(note_too));
    aclrtStream stream = new_stream();
    int32_t id = -1;
    EXPECT_OK(aclrtStreamGetId(stream, &id));
    void *pinned = pinned_memory(SIZE), *device = device_memory(SIZE);
    for (int i = 1; i <= 3; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507013); /* the first, and both are told */
    EXPECT_TRUE(told == 2 && second_told == 2, "%d and %d", told, second_told);
    EXPECT_TRUE(codes[0] == 507013 && codes[1] == 507899, "%u %u", codes[0], codes[1]);
    EXPECT_TRUE(streams[0] == (uint32_t)id && streams[1] == (uint32_t)id, "%u %u, not %d", streams[0], streams[1], id);
    EXPECT_TRUE(tasks[1] == tasks[0] + 1, "%u %u", tasks[0], tasks[1]);
    EXPECT_TRUE(devices[0] == 0 && threads[0] == (uint32_t)gettid(), "%u %u", devices[0], threads[0]);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_CODE(aclrtMemset(NULL, 1, 0, 1), 100000); /* no task */
    EXPECT_TRUE(told == 2 && second_told == 2, "%d and %d", told, second_told);
    EXPECT_OK(aclrtSetExceptionInfoCallback(NULL));
    EXPECT_OK(aclrtExceptionInfoCallbackUnregister(note_too));
    EXPECT_FAILS(aclrtExceptionInfoCallbackUnregister(note_too));
    /* Nothing behind the pointer: no crash. */
    EXPECT_TRUE(aclrtGetErrorCodeFromExceptionInfo(NULL) == UINT32_MAX, "of nothing");
    EXPECT_TRUE(aclrtGetStreamIdFromExceptionInfo((const aclrtExceptionInfo *)8) == UINT32_MAX, "of a wild pointer");

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
