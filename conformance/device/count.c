// soc: all
// schedules: all
// expects: C2 L2
/* aclrtSetDevice and aclrtResetDevice: device ids, reference counts and the effects of a reset, all without aclInit. */
#include "../expect.h"

#define SIZE 64

int main(void)
{
    uint32_t devices = 0;
    int32_t id = -1;
    aclrtRunMode mode = ACL_DEVICE;
    EXPECT_OK(aclrtGetDeviceCount(&devices)); /* 4.2: no context needed */
    REQUIRE_TRUE(devices >= 1 && devices <= 64, "%u devices", devices);
    EXPECT_OK(aclrtGetRunMode(&mode)); /* 4.2: no context needed */
    EXPECT_TRUE(mode == ACL_HOST, "not ACL_HOST in the EP form");
    EXPECT_CODE(aclrtGetDevice(&id), 107002); /* 4.2: no context */
    EXPECT_CODE(aclrtGetDevice(NULL), 100000);
    EXPECT_CODE(aclrtGetDeviceCount(NULL), 100000);
    EXPECT_CODE(aclrtSetDevice(-1), 107001); /* 4.2: bad ids */
    EXPECT_CODE(aclrtSetDevice((int32_t)devices), 107001);
    EXPECT_CODE(aclrtSetDevice(64), 107001);
    EXPECT_CODE(aclrtSetDevice(INT32_MAX), 107001);
    EXPECT_CODE(aclrtResetDevice(0), 507007); /* 4.2: reset without set */
    EXPECT_CODE(aclrtResetDeviceForce(0), 507007);
    EXPECT_FAILS(aclrtResetDevice(-1));
    EXPECT_FAILS(aclrtResetDevice((int32_t)devices));

    /* Set twice, the device is usable until the second reset. */
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtGetDevice(&id));
    EXPECT_TRUE(id == 0, "device %d", id);
    void *device = device_memory(SIZE);
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_DEVICE_VALUE(device, SIZE, 0); /* 4.7 */
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_CODE(aclrtGetDevice(&id), 107002);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_CODE(aclrtResetDevice(0), 507007);

    /* A forced reset ignores the count. */
    for (int i = 0; i < 5; i++) {
        REQUIRE_OK(aclrtSetDevice(0));
    }
    EXPECT_OK(aclrtResetDeviceForce(0));
    EXPECT_CODE(aclrtGetDevice(&id), 107002);
    EXPECT_CODE(aclrtResetDeviceForce(0), 507007); /* 4.2: a second forced reset */
    EXPECT_CODE(aclrtResetDevice(0), 507007);

    /* A reset waits for outstanding tasks. */
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    static int ran;
    for (int i = 0; i < 200; i++) {
        REQUIRE_OK(aclrtLaunchHostFunc(i % 2 == 0 ? stream : NULL, count_up, &ran));
    }
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_TRUE(count_of(&ran) == 200, "%d of 200 had run", count_of(&ran));

    /* Repeated set and reset. */
    for (int i = 0; i < 50; i++) {
        REQUIRE_OK(aclrtSetDevice(0));
        device = device_memory(SIZE);
        EXPECT_DEVICE_VALUE(device, SIZE, 0);
        REQUIRE_OK(aclrtResetDevice(0));
    }
    if (devices > 1) { /* setting another device makes it current; both stay counted */
        REQUIRE_OK(aclrtSetDevice(0));
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtGetDevice(&id));
        EXPECT_TRUE(id == 1, "device %d", id);
        EXPECT_OK(aclrtResetDevice(0));
        EXPECT_OK(aclrtGetDevice(&id));
        EXPECT_TRUE(id == 1, "device %d", id);
        EXPECT_OK(aclrtResetDevice(1));
        EXPECT_CODE(aclrtGetDevice(&id), 107002);
    }
    return finish();
}
