// soc: all
// schedules: all
/* Corrections, documented: after aclrtResetDeviceForce, aclrtResetDevice is an error until the device is set again. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtResetDeviceForce(0)); /* whatever the count is */
    EXPECT_CODE(aclrtResetDevice(0), 507007);
    EXPECT_CODE(aclrtResetDeviceForce(0), 507007);
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_CODE(aclrtResetDevice(0), 507007);
    return finish();
}
