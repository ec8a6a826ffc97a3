// soc: Ascend910B Ascend910C Ascend950
// expects: M1
/* Calls that use a device while aclrtDeviceTaskAbort runs on it return 107022 (4.2, 1.1 row 9, 1.8). */
#include "../expect.h"

#define SIZE 256

static struct gate gate = GATE_INITIALIZER;
/* Result of the abort; PENDING until it returns. */
#define PENDING (-1)
static aclError abort_result = PENDING;

static void *abort_tasks(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0));
    __atomic_store_n(&abort_result, aclrtDeviceTaskAbort(0, 60000), __ATOMIC_SEQ_CST);
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE), *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    static int ran;
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEvent(&event));

    EXPECT_CODE(aclrtDeviceTaskAbort(-1, 1000), 107001);
    EXPECT_CODE(aclrtDeviceTaskAbort(99, 1000), 107001);
    EXPECT_OK(aclrtDeviceTaskAbort(0, 1000)); /* no tasks to abort */

    /* A running host function cannot be stopped: the abort waits until the gate is opened. */
    gate_close(&gate, stream);
    gate_await(&gate);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran)); /* queued: dropped by the abort */
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, abort_tasks, NULL) == 0, "pthread_create");
    aclError got = 0;
    while (got == 0 && __atomic_load_n(&abort_result, __ATOMIC_SEQ_CST) == PENDING) { /* until the abort has begun */
        got = aclrtMemcpy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE);
    }
    EXPECT_CODE(got, 107022); /* 1.1 row 9 */
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_HOST), 107022);
    EXPECT_CODE(aclrtMemset(device, SIZE, 1, SIZE), 107022); /* 1.8 */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other), 107022);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other), 107022);
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, other), 107022);
    EXPECT_CODE(aclrtMemcpy2d(device, 16, pinned, 16, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE), 107022);
    EXPECT_CODE(aclrtLaunchHostFunc(other, count_up, &ran), 107022);
    /* Results that are determined before the check: 1.1 rows 1 to 7. */
    EXPECT_OK(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_DEFAULT));
    EXPECT_CODE(aclrtMemcpy(device, 1, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_OK(aclrtMemcpy(device, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    /* The other device is unaffected. */
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    if (devices > 1) {
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtMemcpy(pageable, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_HOST));
        EXPECT_OK(aclrtResetDevice(1));
        REQUIRE_OK(aclrtSetDevice(0));
        EXPECT_OK(aclrtResetDevice(0)); /* balances the second aclrtSetDevice(0) */
    }
    gate_open(&gate);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_CODE(abort_result, 0);
    EXPECT_TRUE(count_of(&ran) == 0, "a queued function was not dropped");

    /* The device is usable afterwards. */
    fill_pattern(pinned, SIZE, 1);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* The abort invalidates a capture in progress. */
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtDeviceTaskAbort(0, 1000));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureEnd(stream, &graph), 507903);

    free(pageable);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
