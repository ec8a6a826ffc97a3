// soc: all
// schedules: all
// expects: C2 L2
/* The current device is per thread, its reference count per
 * process. After the last reset, other threads have no context. */
#include "../expect.h"

#define SIZE 64

static struct flag step = FLAG_INITIALIZER;
static aclrtContext primary;
static void *device;

static void *use_context(void *unused)
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
    flag_await(&step, 2); /* the main thread has reset the device */
    aclrtStream stream = NULL;
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 107002); /* 4.2 */
    EXPECT_CODE(aclrtCreateStream(&stream), 107002);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_OK(aclrtSetDevice(0)); /* the thread can set the device again */
    void *memory = device_memory(SIZE);
    EXPECT_OK(aclrtFree(memory));
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void *set_device(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0)); /* makes the existing primary context current and increments the count */
    aclrtContext current = NULL;
    EXPECT_OK(aclrtGetCurrentContext(&current));
    EXPECT_TRUE(current == primary, "another primary context");
    flag_set(&step, 1);
    flag_await(&step, 2);
    EXPECT_OK(aclrtSynchronizeDevice()); /* the count is still 1 after the reset of the main thread */
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    return NULL;
}

static void *wait_for_forced_reset(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0));
    flag_set(&step, 1);
    flag_await(&step, 2);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002); /* the main thread has forced the reset */
    return NULL;
}

/* Starts a thread, waits for its first step, resets the device and lets the thread finish. */
static void run_with_reset(void *(*body)(void *), aclError (*reset)(int32_t))
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
    run_with_reset(use_context, aclrtResetDevice);
    run_with_reset(set_device, aclrtResetDevice);
    run_with_reset(wait_for_forced_reset, aclrtResetDeviceForce);
    return finish();
}
