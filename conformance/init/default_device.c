// soc: all
// schedules: all
/* With a default device in the configuration, calls work without aclrtSetDevice: the first that needs a context sets it
 * (correction 14). In each thread another call is the first. */
#include "../expect.h"

#define SIZE 512

/* A copy to device memory of another thread is the first call, on the default stream or on one of this thread. */
static void *copy_first(void *device)
{
    static uint8_t source[SIZE], result[SIZE];
    fill_pattern(source, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    EXPECT_PATTERN(result, SIZE, 2);
    return NULL;
}

static void *stream_first(void *device)
{
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclrtContext context = NULL, again = NULL;
    uint8_t *pinned = NULL;
    REQUIRE_OK(aclrtCreateStream(&stream));
    EXPECT_OK(aclrtGetCurrentContext(&context));
    REQUIRE_OK(aclrtMallocHost((void **)&pinned, SIZE));
    fill_pattern(pinned, SIZE, 3);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtStreamWaitEvent(NULL, event));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 3);
    EXPECT_OK(aclrtGetCurrentContext(&again));
    EXPECT_TRUE(context != NULL && context == again, "the context changed");
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    return NULL;
}

static void *synchronize_first(void *unused)
{
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    return unused;
}

static void *check_default_device(void *unused)
{
    (void)unused;
    static uint8_t source[SIZE], result[SIZE];
    void *device = NULL;
    int32_t id = -1;
    fill_pattern(source, SIZE, 1);
    EXPECT_OK(aclrtGetDevice(&id)); /* 4.2: the configured device */
    EXPECT_TRUE(id == 0, "device %d", id);
    EXPECT_OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST)); /* 4.3, 1.14 */
    EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpy(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE)); /* 1.1 row 8 */
    EXPECT_OK(aclrtMemcpy(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(result, SIZE, 1);
    EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    in_new_thread(copy_first, device);
    in_new_thread(stream_first, device);
    in_new_thread(synchronize_first, NULL);
    EXPECT_OK(aclrtFree(device));
    return NULL;
}

int main(void)
{
    char name[] = "/tmp/conformance-XXXXXX";
    int file = mkstemp(name);
    REQUIRE_TRUE(file >= 0, "mkstemp");
    static const char text[] = "{ \"defaultDevice\": { \"default_device\": \"0\" } }";
    REQUIRE_TRUE(write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "write");
    close(file);
    REQUIRE_OK(aclInit(name));
    unlink(name);
    check_default_device(NULL);
    in_new_thread(check_default_device, NULL);
    EXPECT_OK(aclFinalize());
    return finish();
}
