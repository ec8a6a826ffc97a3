// soc: Ascend910B Ascend310P
// env: ASCEND_RT_VISIBLE_DEVICES=1
// schedules: all
/* ASCEND_RT_VISIBLE_DEVICES=1: the program has one device with id 0, which is the second device of the machine. */
#include "../expect.h"

int main(void)
{
    uint32_t devices = 0;
    int32_t id = -1;
    EXPECT_OK(aclrtGetDeviceCount(&devices));
    EXPECT_TRUE(devices == 1, "%u devices", devices);
    EXPECT_CODE(aclrtSetDevice(1), 107001);
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtGetDevice(&id));
    EXPECT_TRUE(id == 0, "device %d", id);
    EXPECT_OK(aclrtGetLogicDevIdByUserDevId(0, &id));
    EXPECT_TRUE(id == 1, "logical %d", id);
    EXPECT_OK(aclrtGetUserDevIdByLogicDevId(1, &id));
    EXPECT_TRUE(id == 0, "user %d", id);

    /* 1.12: attributes contain the user device id. */
    void *device = device_memory(64);
    aclrtPtrAttributes attributes;
    EXPECT_OK(aclrtPointerGetAttributes(device, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 0, "id %u",
                attributes.location.id);
    device_fill(device, 64, 1);
    EXPECT_DEVICE_PATTERN(device, 64, 1);
    int32_t can = 0;
    EXPECT_CODE(aclrtDeviceCanAccessPeer(&can, 0, 1), 107001); /* 5: device 1 is not visible */
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
