// soc: Ascend910B Ascend310P
// schedules: all
/* Client usage: a program that sets ASCEND_RT_VISIBLE_DEVICES after the library was loaded. */
#include "../expect.h"

int main(void)
{
    REQUIRE_TRUE(setenv("ASCEND_RT_VISIBLE_DEVICES", "1", 1) == 0, "setenv");
    uint32_t devices = 0;
    int32_t id = -1;
    EXPECT_OK(aclInit(NULL));
    EXPECT_OK(aclrtGetDeviceCount(&devices));
    EXPECT_TRUE(devices == 1, "%u devices", devices);
    EXPECT_CODE(aclrtSetDevice(1), 107001);
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtGetLogicDevIdByUserDevId(0, &id));
    EXPECT_TRUE(id == 1, "logical %d", id);
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
