// soc: all
// schedules: all
// expects: C2
/* Contexts: creation, the current context of a thread, destruction, and the argument checks of each call. */
#include "../expect.h"

#define SIZE 64

static void *check_new_thread(void *context)
{
    aclrtContext got = NULL;
    aclrtStream stream = NULL;
    EXPECT_CODE(aclrtGetCurrentContext(&got), 107002); /* 4.3: a new thread has none */
    EXPECT_CODE(aclrtCtxGetCurrentDefaultStream(&stream), 107002);
    EXPECT_CODE(aclrtCreateStream(&stream), 107002);
    EXPECT_OK(aclrtSetCurrentContext(context));
    EXPECT_OK(aclrtGetCurrentContext(&got));
    EXPECT_TRUE(got == context, "not the context that was set");
    EXPECT_OK(aclrtCreateStream(&stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    aclrtContext created = NULL;
    EXPECT_OK(aclrtCreateContext(&created, 0)); /* becomes current on this thread only */
    EXPECT_OK(aclrtGetCurrentContext(&got));
    EXPECT_TRUE(got == created, "the new context is not current");
    EXPECT_OK(aclrtDestroyContext(created));
    EXPECT_CODE(aclrtGetCurrentContext(&got), 107002);
    return NULL;
}

int main(void)
{
    aclrtContext got = NULL, first = NULL, second = NULL;
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    EXPECT_CODE(aclrtGetCurrentContext(&got), 107002); /* 4.3 */
    EXPECT_CODE(aclrtGetCurrentContext(NULL), 100000);
    EXPECT_CODE(aclrtCreateContext(NULL, 0), 100000);
    EXPECT_CODE(aclrtCreateContext(&got, -1), 107001);
    EXPECT_CODE(aclrtCreateContext(&got, (int32_t)devices), 107001);
    EXPECT_CODE(aclrtDestroyContext(NULL), 100000);
    EXPECT_CODE(aclrtSetCurrentContext(NULL), 100000);

    /* An explicit context works without aclrtSetDevice. */
    REQUIRE_OK(aclrtCreateContext(&first, 0));
    EXPECT_OK(aclrtGetCurrentContext(&got));
    EXPECT_TRUE(got == first, "not current after creation");
    int32_t id = -1;
    EXPECT_OK(aclrtGetDevice(&id));
    EXPECT_TRUE(id == 0, "device %d", id);
    void *device = device_memory(SIZE);
    device_fill(device, SIZE, 1);
    REQUIRE_OK(aclrtCreateContext(&second, 0));
    EXPECT_TRUE(second != first, "the contexts are not distinct");
    EXPECT_DEVICE_PATTERN(device, SIZE, 1); /* memory belongs to the device */
    in_new_thread(check_new_thread, first);
    EXPECT_OK(aclrtGetCurrentContext(&got));
    EXPECT_TRUE(got == second, "another thread changed the current context");

    /* aclrtSetDevice replaces the explicit context of the thread. */
    aclrtContext primary = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtGetCurrentContext(&primary));
    EXPECT_TRUE(primary != first && primary != second, "not the primary context");
    EXPECT_CODE(aclrtDestroyContext(primary), 107002); /* 4.3: the primary context cannot be destroyed */
    EXPECT_OK(aclrtGetCurrentContext(&got));
    EXPECT_TRUE(got == primary, "the current context changed");

    /* Destroying a context that is not current, then the current one. */
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyContext(second));
    EXPECT_OK(aclrtGetCurrentContext(&got));
    EXPECT_TRUE(got == primary, "the current context changed");
    EXPECT_OK(aclrtSetCurrentContext(first));
    EXPECT_OK(aclrtDestroyContext(first));
    EXPECT_CODE(aclrtGetCurrentContext(&got), 107002);
    EXPECT_CODE(aclrtSetCurrentContext(first), 107000); /* 4.3: destroyed */
    EXPECT_CODE(aclrtDestroyContext(first), 107002);
    EXPECT_OK(aclrtSetCurrentContext(primary));

    /* Destroying a context waits for or drops the tasks of its streams: none runs afterwards. */
    static int ran;
    REQUIRE_OK(aclrtCreateContext(&first, 0));
    for (int i = 0; i < 20; i++) {
        REQUIRE_OK(aclrtLaunchHostFunc(NULL, count_up, &ran));
    }
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_OK(aclrtDestroyContext(first));
    EXPECT_TRUE(count_of(&ran) == 20, "%d of 20", count_of(&ran));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
