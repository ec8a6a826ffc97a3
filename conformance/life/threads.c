// soc: all
// schedules: all
// misuses: C2 M1
/* A thread may end while it owns a context, streams and memory, and while its work is queued: they belong to the process. */
#include "../expect.h"

#define SIZE (256u << 10)

struct left {
    aclrtContext context;
    aclrtStream stream;
    uint8_t *device, *pinned;
};

static struct left left;

static void *make_and_leave(void *unused)
{
    REQUIRE_OK(aclrtCreateContext(&left.context, 0));
    left.stream = new_stream();
    left.device = (uint8_t *)device_memory(SIZE);
    left.pinned = (uint8_t *)pinned_memory(SIZE);
    fill_pattern(left.pinned, SIZE, 6);
    EXPECT_OK(aclrtMemcpyAsync(left.device, SIZE, left.pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, left.stream));
    EXPECT_CODE(aclrtMemcpy(left.device, 1, left.pinned, 2, ACL_MEMCPY_HOST_TO_DEVICE), 107000); /* a message is kept */
    return unused;
}

static void *set_and_leave(void *unused)
{
    REQUIRE_OK(aclrtSetDevice(0)); /* and no reset */
    aclrtStream stream = new_stream();
    EXPECT_OK(aclrtSynchronizeStream(stream));
    return unused;
}

static void *fail_and_leave(void *unused)
{
    EXPECT_CODE(aclrtSynchronizeStream(NULL), 107002);
    return unused;
}

int main(void)
{
    in_new_thread(make_and_leave, NULL);
    /* What the thread left can be used here. */
    EXPECT_OK(aclrtSetCurrentContext(left.context));
    EXPECT_OK(aclrtSynchronizeStream(left.stream));
    EXPECT_DEVICE_PATTERN(left.device, SIZE, 6);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "messages go with their thread");
    EXPECT_CODE(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0);
    EXPECT_OK(aclrtFree(left.device));
    EXPECT_OK(aclrtFreeHost(left.pinned));
    EXPECT_OK(aclrtDestroyStream(left.stream));
    EXPECT_OK(aclrtDestroyContext(left.context));

    /* Many of them, none of which resets: one forced reset ends it all. */
    for (int i = 0; i < 200; i++) {
        in_new_thread(set_and_leave, NULL);
        in_new_thread(fail_and_leave, NULL);
    }
    EXPECT_OK(aclrtResetDeviceForce(0));
    EXPECT_CODE(aclrtResetDeviceForce(0), 507007);
    return finish();
}
