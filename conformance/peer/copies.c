// soc: all
// schedules: all
/* Copies between devices: refused until both directions are enabled (A3 needs no enabling), right afterwards. */
#include "../expect.h"

#define SIZE 3000

static uint8_t *near, *far;
static aclrtStream stream;

/* Without access: an error at the call or at the synchronise, the destination as it was, a message. */
static void refused(void)
{
    REQUIRE_OK(aclrtMemset(near, SIZE, 0x21, SIZE));
    EXPECT_SOFTACL_CODE(aclrtMemcpy(near, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "a message");
    EXPECT_SOFTACL_CODE(aclrtMemcpy(far, SIZE, near, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    aclError got = aclrtMemcpyAsync(near, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
    aclError waited = aclrtSynchronizeStream(stream);
    EXPECT_TRUE(got != 0 || waited != 0, "call %d, synchronise %d", got, waited);
    if (on_softacl()) {
        EXPECT_CODE(got, 507899);
        EXPECT_CODE(waited, 0);
    }
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "a message");
    EXPECT_DEVICE_VALUE(near, SIZE, 0x21);
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_DEVICE_PATTERN(far, SIZE, 1);
    REQUIRE_OK(aclrtSetDevice(0));
}

static void allowed(void)
{
    REQUIRE_OK(aclrtMemset(near, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpy(near, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(near, SIZE, 1);
    REQUIRE_OK(aclrtMemset(near, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(near, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(near, SIZE, 1);
    /* a wrong kind is repaired, an odd range is fine */
    REQUIRE_OK(aclrtMemset(near, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(near + 3, 100, far, 100, ACL_MEMCPY_DEFAULT, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(near, 3, 0);
    EXPECT_DEVICE_PATTERN(near + 3, 100, 1);
    EXPECT_DEVICE_VALUE(near + 103, SIZE - 103, 0);
    /* and the other way */
    device_fill(near, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(far, SIZE, near, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_DEVICE_PATTERN(far, SIZE, 2);
    device_fill(far, SIZE, 1);
    REQUIRE_OK(aclrtSetDevice(0));
}

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    REQUIRE_OK(aclrtSetDevice(1));
    far = (uint8_t *)device_memory(SIZE);
    device_fill(far, SIZE, 1);
    REQUIRE_OK(aclrtSetDevice(0));
    near = (uint8_t *)device_memory(SIZE);
    stream = new_stream();

    /* Host memory is everybody's: memory of the other device may be read and written from here. */
    EXPECT_DEVICE_PATTERN(far, SIZE, 1);

    if (family() == FAMILY_310B) {
        EXPECT_FAILS(aclrtMemcpy(near, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    } else if (family() == FAMILY_A3) {
        allowed();
    } else {
        refused();
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        refused(); /* one direction is not enough */
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtDeviceEnablePeerAccess(0, 0));
        REQUIRE_OK(aclrtSetDevice(0));
        allowed();
        EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
        refused();
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        allowed();
    }
    EXPECT_OK(aclrtFree(near));
    EXPECT_OK(aclrtFree(far));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
