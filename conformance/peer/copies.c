// soc: all
// schedules: all
/* Copies between devices fail until one of the two devices has enabled peer access: a blocking copy at the call, a
 * queued one at the wait (corrections, rules 11 and 13). A3 needs no enabling. */
#include "../expect.h"

#define SIZE 3000

static uint8_t *local, *remote;
static aclrtStream stream;

/* Without access: an error of the call or of the wait, an unchanged destination, and a message. */
static void expect_failure_at_the_end(void)
{
    REQUIRE_OK(aclrtMemset(local, SIZE, 0x21, SIZE));
    EXPECT_SOFTACL_CODE(aclrtMemcpy(local, SIZE, remote, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message");
    EXPECT_SOFTACL_CODE(aclrtMemcpy(remote, SIZE, local, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_OK(aclrtMemcpyAsync(local, SIZE, remote, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_SOFTACL_CODE(aclrtSynchronizeStream(stream), copy_failure());
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message");
    EXPECT_OK(aclrtMemcpyAsync(remote, SIZE, local, SIZE, ACL_MEMCPY_DEFAULT, stream));
    EXPECT_OK(aclrtMemsetAsync(local, SIZE, 0x21, SIZE, stream)); /* later tasks still run */
    EXPECT_SOFTACL_CODE(aclrtSynchronizeStream(stream), copy_failure());
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(local, SIZE, 0x21);
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_DEVICE_PATTERN(remote, SIZE, 1);
    REQUIRE_OK(aclrtSetDevice(0));
}

static void expect_allowed(void)
{
    REQUIRE_OK(aclrtMemset(local, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpy(local, SIZE, remote, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(local, SIZE, 1);
    REQUIRE_OK(aclrtMemset(local, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(local, SIZE, remote, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(local, SIZE, 1);
    /* A wrong kind is corrected, and the range needs no alignment. */
    REQUIRE_OK(aclrtMemset(local, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(local + 3, 100, remote, 100, ACL_MEMCPY_DEFAULT, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(local, 3, 0);
    EXPECT_DEVICE_PATTERN(local + 3, 100, 1);
    EXPECT_DEVICE_VALUE(local + 103, SIZE - 103, 0);
    /* In the other direction. */
    device_fill(local, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(remote, SIZE, local, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_DEVICE_PATTERN(remote, SIZE, 2);
    device_fill(remote, SIZE, 1);
    REQUIRE_OK(aclrtSetDevice(0));
}

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    REQUIRE_OK(aclrtSetDevice(1));
    remote = (uint8_t *)device_memory(SIZE);
    device_fill(remote, SIZE, 1);
    REQUIRE_OK(aclrtSetDevice(0));
    local = (uint8_t *)device_memory(SIZE);
    stream = new_stream();

    /* Copies between the host and another device need no peer access. */
    EXPECT_DEVICE_PATTERN(remote, SIZE, 1);

    if (family() == FAMILY_310B) {
        EXPECT_FAILS(aclrtMemcpy(local, SIZE, remote, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    } else if (family() == FAMILY_A3) {
        expect_allowed();
    } else {
        expect_failure_at_the_end();
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        expect_allowed(); /* one call is enough, for copies in either direction */
        EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
        expect_failure_at_the_end();
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtDeviceEnablePeerAccess(0, 0));
        REQUIRE_OK(aclrtSetDevice(0));
        expect_allowed(); /* on either device */
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        expect_allowed();
    }
    EXPECT_OK(aclrtFree(local));
    EXPECT_OK(aclrtFree(remote));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
