// soc: all
// schedules: all
// expects: C2 M1
/* A thread may end while its tasks are queued: contexts, streams and memory that it created belong to the process. */
#include "../expect.h"

#define SIZE (256u << 10)

struct objects {
    aclrtContext context;
    aclrtStream stream;
    uint8_t *device, *pinned;
};

static struct objects objects;

static void *create_objects(void *unused)
{
    REQUIRE_OK(aclrtCreateContext(&objects.context, 0));
    objects.stream = new_stream();
    objects.device = (uint8_t *)device_memory(SIZE);
    objects.pinned = (uint8_t *)pinned_memory(SIZE);
    fill_pattern(objects.pinned, SIZE, 6);
    EXPECT_OK(aclrtMemcpyAsync(objects.device, SIZE, objects.pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, objects.stream));
    /* leaves an error message */
    EXPECT_CODE(aclrtMemcpy(objects.device, 1, objects.pinned, 2, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    return unused;
}

static void *set_device(void *unused)
{
    REQUIRE_OK(aclrtSetDevice(0)); /* without a reset */
    aclrtStream stream = new_stream();
    EXPECT_OK(aclrtSynchronizeStream(stream));
    return unused;
}

static void *fail_call(void *unused)
{
    EXPECT_CODE(aclrtSynchronizeStream(NULL), 107002);
    return unused;
}

int main(void)
{
    in_new_thread(create_objects, NULL);
    /* Another thread can use the objects. */
    EXPECT_OK(aclrtSetCurrentContext(objects.context));
    EXPECT_OK(aclrtSynchronizeStream(objects.stream));
    EXPECT_DEVICE_PATTERN(objects.device, SIZE, 6);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "the message of an ended thread was returned");
    EXPECT_CODE(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0);
    EXPECT_OK(aclrtFree(objects.device));
    EXPECT_OK(aclrtFreeHost(objects.pinned));
    EXPECT_OK(aclrtDestroyStream(objects.stream));
    EXPECT_OK(aclrtDestroyContext(objects.context));

    /* Many threads set the device without a reset; one forced reset releases it. */
    for (int i = 0; i < 200; i++) {
        in_new_thread(set_device, NULL);
        in_new_thread(fail_call, NULL);
    }
    EXPECT_OK(aclrtResetDeviceForce(0));
    EXPECT_CODE(aclrtResetDeviceForce(0), 507007);
    return finish();
}
