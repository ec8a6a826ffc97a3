// soc: all
// expects: S2
/* aclrtMemcpyAsyncWithCondition (1.3): with memory that the runtime did not allocate it returns when the copy is done,
 * otherwise it is asynchronous. It copies between devices after peer access is enabled. */
#include "../expect.h"

#include <sched.h>

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;
static int has_returned, returned_early;

/* Holds the stream until the call in progress has returned, or for a time in which a call that does not wait would have
 * returned. */
static void hold(void *argument)
{
    (void)argument;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!__atomic_load_n(&has_returned, __ATOMIC_SEQ_CST)
             && (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 200);
    __atomic_store_n(&returned_early, __atomic_load_n(&has_returned, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE), *other = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *pageable = (uint8_t *)pageable_memory(SIZE);

    /* Pinned: queued behind the gate, so that the call returns before the copy runs. */
    REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
    fill_pattern(pinned, SIZE, 1);
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsyncWithCondition(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_DEVICE_VALUE(device, SIZE, 0);

    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* Pageable: the call returns after what is queued before it, so not while the stream is held. If the copy were
     * queued, the call would return at once. */
    memset(pageable, 0, SIZE);
    EXPECT_OK(aclrtLaunchHostFunc(stream, hold, NULL));
    EXPECT_OK(aclrtMemcpyAsyncWithCondition(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    __atomic_store_n(&has_returned, 1, __ATOMIC_SEQ_CST);
    EXPECT_PATTERN(pageable, SIZE, 1);
    EXPECT_TRUE(!stream_is_busy(stream), "the stream still has work");
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(__atomic_load_n(&returned_early, __ATOMIC_SEQ_CST) == 0, "the call did not wait for the stream");
    fill_pattern(pageable, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsyncWithCondition(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    memset(pageable, 0, SIZE); /* the source was taken */
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);

    /* Within the device: queued. */
    EXPECT_OK(aclrtMemcpyAsyncWithCondition(other, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(other, SIZE, 2);
    EXPECT_CODE(aclrtMemcpyAsyncWithCondition(pinned, SIZE, pinned + 64, 64, ACL_MEMCPY_HOST_TO_HOST, stream), 207000);

    /* Between devices. */
    REQUIRE_OK(aclrtSetDevice(1));
    uint8_t *remote = (uint8_t *)device_memory(SIZE);
    REQUIRE_OK(aclrtSetDevice(0));
    if (family() != FAMILY_A3) {
        EXPECT_OK(aclrtMemcpyAsyncWithCondition(remote, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        EXPECT_SOFTACL_CODE(aclrtSynchronizeStream(stream), copy_failure());
    }
    if (family() != FAMILY_310B) {
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        EXPECT_OK(aclrtMemcpyAsyncWithCondition(remote, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(remote, SIZE, 2);
        REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
        EXPECT_OK(aclrtMemcpyAsyncWithCondition(device, SIZE, remote, SIZE, ACL_MEMCPY_DEFAULT, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    }
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(remote));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
