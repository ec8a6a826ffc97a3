// soc: Ascend910B Ascend310P
// env: ASCEND_RT_VISIBLE_DEVICES=1,0
// schedules: all
/* ASCEND_RT_VISIBLE_DEVICES=1,0: all functions use the exchanged device ids. */
#include "../expect.h"

int main(void)
{
    uint32_t devices = 0;
    EXPECT_OK(aclrtGetDeviceCount(&devices));
    EXPECT_TRUE(devices == 2, "%u devices", devices);
    void *memories[2];
    for (int32_t user = 0; user < 2; user++) {
        int32_t id = -1;
        REQUIRE_OK(aclrtSetDevice(user));
        EXPECT_OK(aclrtGetDevice(&id));
        EXPECT_TRUE(id == user, "device %d", id);
        EXPECT_OK(aclrtGetLogicDevIdByUserDevId(user, &id));
        EXPECT_TRUE(id == 1 - user, "logical %d of user %d", id, user);
        EXPECT_OK(aclrtGetUserDevIdByLogicDevId(user, &id));
        EXPECT_TRUE(id == 1 - user, "user %d of logical %d", id, user);
        memories[user] = device_memory(64);
        aclrtPtrAttributes attributes;
        EXPECT_OK(aclrtPointerGetAttributes(memories[user], &attributes));
        EXPECT_TRUE(attributes.location.id == (uint32_t)user, "id %u", attributes.location.id);
    }
    for (int32_t user = 0; user < 2; user++) {
        EXPECT_OK(aclrtFree(memories[user]));
        EXPECT_OK(aclrtResetDevice(user));
    }
    return finish();
}
