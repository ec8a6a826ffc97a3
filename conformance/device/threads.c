// soc: all
// schedules: all
// misuses: C2 L2
/* The device is set per thread, counted per process; after the last reset other threads find no context. */
#include "../expect.h"

#define SIZE 64

static struct flag step = FLAG_INITIALIZER;
static aclrtContext primary;
static void *device;

static void *adopter(void *unused)
{
    (void)unused;
    static uint8_t pageable[SIZE];
    int32_t id = -1;
    EXPECT_CODE(aclrtGetDevice(&id), 107002); /* 4.3: a new thread has no context */
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 107002);
    EXPECT_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(pageable, SIZE, 1);
    flag_set(&step, 1);
    flag_await(&step, 2); /* main has reset the device */
    aclrtStream stream = NULL;
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 107002); /* 4.2 */
    EXPECT_CODE(aclrtCreateStream(&stream), 107002);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_OK(aclrtSetDevice(0)); /* a fresh start in this thread */
    void *own = device_memory(SIZE);
    EXPECT_OK(aclrtFree(own));
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void *setter(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0)); /* the same primary context, counted once more */
    aclrtContext same = NULL;
    EXPECT_OK(aclrtGetCurrentContext(&same));
    EXPECT_TRUE(same == primary, "one primary context per device");
    flag_set(&step, 1);
    flag_await(&step, 2);
    EXPECT_OK(aclrtSynchronizeDevice()); /* main's reset did not reach 0 */
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    return NULL;
}

static void *forced(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0));
    flag_set(&step, 1);
    flag_await(&step, 2);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002); /* main has forced the reset */
    return NULL;
}

/* Starts `body`, waits for its first step, does `reset` and lets it finish. */
static void together(void *(*body)(void *), aclError (*reset)(int32_t))
{
    pthread_t thread;
    flag_set(&step, 0);
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    device = device_memory(SIZE);
    device_fill(device, SIZE, 1);
    REQUIRE_TRUE(pthread_create(&thread, NULL, body, NULL) == 0, "pthread_create");
    flag_await(&step, 1);
    EXPECT_OK(reset(0));
    flag_set(&step, 2);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
}

int main(void)
{
    together(adopter, aclrtResetDevice);
    together(setter, aclrtResetDevice);
    together(forced, aclrtResetDeviceForce);
    return finish();
}
