// softacl-only
// env: SOFTACL_FAULTS=copy@2=507013; fill@1=507899; copy[size=128]@1=507899; task@12=507013
// schedules: all
/* Task failures: the submitting call succeeds and a later wait
 * reports the failure, once in CONTINUE mode and always in STOP mode. */
#include "../expect.h"

#define SIZE 256

static uint8_t *pinned, *device;

static aclError copy(aclrtStream stream, size_t size)
{
    return aclrtMemcpyAsync(device, SIZE, pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, stream);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream();
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);

    /* 4.4 CONTINUE: the second of three copies fails without copying a byte, and the third runs. */
    fill_pattern(pinned, SIZE, 1);
    EXPECT_OK(copy(first, SIZE));
    EXPECT_OK(aclrtSynchronizeStream(first));
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(copy(first, SIZE));
    EXPECT_OK(aclrtSynchronizeStream(second)); /* other streams do not report it */
    EXPECT_CODE(aclrtSynchronizeStream(first), 507013);
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_OK(copy(first, SIZE));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);

    /* A memset fails likewise, and aclrtSynchronizeDevice reports it too. */
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 7, SIZE, first));
    EXPECT_CODE(aclrtSynchronizeDevice(), 507899);
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 7, SIZE, first));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_DEVICE_VALUE(device, SIZE, 7);

    /* By size. An event recorded after a failed task still completes: only waits for the stream report the failure. */
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_OK(copy(first, 64));
    EXPECT_OK(copy(first, 128));
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_CODE(aclrtSynchronizeStream(first), 507899);
    EXPECT_OK(copy(first, 128));
    EXPECT_OK(aclrtSynchronizeStream(first));

    /* 4.4 STOP: eight tasks have run. The twelfth fails, and
     * from then on every call of the context returns its code. */
    EXPECT_OK(aclrtSetStreamFailureMode(first, ACL_STOP_ON_FAILURE));
    for (int i = 9; i <= 12; i++) {
        EXPECT_OK(copy(first, SIZE));
        EXPECT_CODE(aclrtSynchronizeStream(first), i == 12 ? 507013 : 0);
    }
    EXPECT_CODE(aclrtSynchronizeStream(first), 507013);
    EXPECT_CODE(copy(first, SIZE), 507013);
    EXPECT_CODE(copy(second, SIZE), 507013);
    EXPECT_CODE(aclrtSynchronizeStream(second), 507013);
    EXPECT_CODE(aclrtSynchronizeDevice(), 507013);

    /* A reset clears the failure. */
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    REQUIRE_OK(aclrtSetDevice(0));
    first = new_stream();
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    fill_pattern(pinned, SIZE, 3);
    EXPECT_OK(copy(first, SIZE));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_DEVICE_PATTERN(device, SIZE, 3);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
