// soc: all
// schedules: all
/* Client usage: the calls of a tensor framework from start to
 * exit, with a stream pool, failure mode and short-lived events. */
#include "../expect.h"

#define POOL 32
#define BLOCK ((size_t)20 << 20)
#define SIZE 40000

static void *queue_thread(void *context) /* the framework issues copies on a dedicated thread */
{
    aclrtStream stream = NULL;
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    void *device = NULL;
    EXPECT_OK(aclrtSetCurrentContext(context));
    REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    REQUIRE_OK(aclrtMallocAlign32(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint32_t i = 0; i < 20; i++) {
        fill_pattern(pageable, SIZE, i);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        memset(pageable, 0, SIZE);
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
        EXPECT_OK(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_PATTERN(pageable, SIZE, i);
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStreamForce(stream));
    free(pageable);
    return NULL;
}

int main(void)
{
    EXPECT_OK(aclInit(NULL));
    uint32_t devices = 0;
    EXPECT_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext context = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&context));
    aclrtStream pool[POOL];
    for (int i = 0; i < POOL; i++) {
        REQUIRE_OK(aclrtCreateStreamWithConfig(&pool[i], 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
        EXPECT_OK(aclrtSetStreamFailureMode(pool[i], 1));
    }
    void *block = NULL;
    REQUIRE_OK(aclrtMallocAlign32(&block, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    uint8_t *device = (uint8_t *)block;
    uint8_t *source = (uint8_t *)pinned_memory(SIZE);
    uint8_t *result = (uint8_t *)pinned_memory(SIZE);
    in_new_thread(queue_thread, context);

    /* wait_stream creates, uses and destroys an event each time. */
    for (uint32_t round = 0; round < 100; round++) {
        aclrtStream producer = pool[round % POOL], consumer = pool[(round + 7) % POOL];
        fill_pattern(source, SIZE, round);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
        aclrtEvent event = NULL;
        REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
        EXPECT_OK(aclrtRecordEvent(event, producer));
        EXPECT_OK(aclrtStreamWaitEvent(consumer, event));
        EXPECT_OK(aclrtDestroyEvent(event));
        EXPECT_OK(aclrtMemcpyAsync(device + SIZE, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, consumer));
        EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device + SIZE, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(consumer, -1));
        EXPECT_PATTERN(result, SIZE, round);
    }
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtFree(block));
    EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(-1));
    for (int i = 0; i < POOL; i++) {
        EXPECT_OK(aclrtDestroyStreamForce(pool[i]));
    }
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
