// soc: all
// schedules: all
// expects: S2
/* aclrtMemcpyAsync with pageable memory waits for the whole stream, copies, and is complete on return. */
#include "../expect.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;
static struct flag calling = FLAG_INITIALIZER;
static struct flag returned = FLAG_INITIALIZER;

struct request {
    void *target;
    const void *source;
    aclrtMemcpyKind kind;
    aclrtStream stream;
    aclError got;
};

static void *caller(void *argument)
{
    struct request *request = (struct request *)argument;
    REQUIRE_OK(aclrtSetDevice(0));
    flag_set(&calling, 1);
    request->got = aclrtMemcpyAsync(request->target, SIZE, request->source, SIZE, request->kind, request->stream);
    flag_set(&returned, 1);
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

/* Makes the copy on another thread while the stream is blocked,
 * and checks that it returns only after the gate opens. */
static void expect_waits_for_stream(void *target, const void *source, aclrtMemcpyKind kind, aclrtStream stream)
{
    struct request request = {target, source, kind, stream, -1};
    flag_set(&calling, 0);
    flag_set(&returned, 0);
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, caller, &request) == 0, "pthread_create");
    flag_await(&calling, 1);
    EXPECT_TRUE(flag_never_becomes(&returned, 1), "the call returned while the stream was blocked");
    gate_open(&gate);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_CODE(request.got, 0);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);

    /* 1.2 row 13a, device to host: runs after earlier tasks and is complete on return. */
    fill_pattern(pinned, SIZE, 1);
    gate_close(&gate, stream);
    REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    expect_waits_for_stream(pageable, device, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    EXPECT_PATTERN(pageable, SIZE, 1);
    EXPECT_TRUE(!stream_is_busy(stream), "the stream was not drained");

    /* 1.2 row 13a, host to device, kind DEFAULT. */
    fill_pattern(pageable, SIZE, 2);
    gate_close(&gate, stream);
    expect_waits_for_stream(device, pageable, ACL_MEMCPY_DEFAULT, stream);
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);

    /* The default stream; the other thread uses the primary context too. */
    fill_pattern(pageable, SIZE, 3);
    gate_close(&gate, NULL);
    expect_waits_for_stream(device, pageable, ACL_MEMCPY_HOST_TO_DEVICE, NULL);
    EXPECT_DEVICE_PATTERN(device, SIZE, 3);

    /* On an idle stream too, the copy is complete on return and the source may be overwritten. */
    for (uint32_t seed = 10; seed < 20; seed++) {
        fill_pattern(pageable, SIZE, seed);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        memset(pageable, 0, SIZE);
        EXPECT_OK(aclrtMemcpyAsync(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_PATTERN(pageable, SIZE, seed);
    }

    /* The call does not wait for other streams. */
    aclrtStream other = new_stream();
    fill_pattern(pageable, SIZE, 30);
    gate_close(&gate, other);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 30);
    EXPECT_TRUE(stream_is_busy(other), "the other stream is no longer blocked");
    /* With kind D2D a pageable source is passed to the device unchanged, without an implicit wait. */
    fill_pattern(pageable, SIZE, 31);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, other));
    EXPECT_DEVICE_PATTERN(device, SIZE, 30);
    gate_open(&gate);
    if (aclrtSynchronizeStream(other) == 0) { /* depends on whether the driver lets the device read it */
        EXPECT_DEVICE_PATTERN(device, SIZE, 31);
    }

    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
