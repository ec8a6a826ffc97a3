// soc: Ascend910B Ascend910C Ascend950
/* Correction 19: while a stream is being aborted, calls that wait for it return 107023, and so do calls that submit to
 * it. The abort of another stream, or one that is over, changes nothing. */
#include "../expect.h"

#define SIZE 256

static struct gate gate = GATE_INITIALIZER;

static void *abort_stream(void *stream)
{
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtStreamAbort(stream)); /* waits for the host function that runs */
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    aclrtEvent event = NULL;
    static int ran;
    REQUIRE_OK(aclrtCreateEvent(&event));
    fill_pattern(pinned, SIZE, 1);
    gate_close(&gate, stream);
    gate_await(&gate);
    EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);

    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, abort_stream, stream) == 0, "pthread_create");
    /* The gate stays closed, so the abort does not end before this thread has seen it. */
    aclError got;
    while ((got = aclrtSynchronizeStreamWithTimeout(stream, 1)) == 507046) {
    }
    EXPECT_CODE(got, 107023);
    EXPECT_CODE(aclrtSynchronizeStream(stream), 107023);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107023);
    EXPECT_SOFTACL_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107023);
    EXPECT_SOFTACL_CODE(aclrtRecordEvent(event, stream), 107023);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    gate_open(&gate);
    pthread_join(thread, NULL);

    EXPECT_TRUE(count_of(&ran) == 0, "a dropped task ran");
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
