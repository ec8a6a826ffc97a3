// softacl-only
// soc: Ascend910B
// env: ASCEND_RT_VISIBLE_DEVICES=1,7
/* The error for a device that ASCEND_RT_VISIBLE_DEVICES hides names that variable. */
#include "../expect.h"

int main(void)
{
    EXPECT_CODE(aclrtSetDevice(1), 107001);
    const char *message = aclGetRecentErrMsg();
    REQUIRE_TRUE(message != NULL, "no message");
    EXPECT_TRUE(strstr(message, "device 1 does not exist: there is 1 device (0); "
                                "ASCEND_RT_VISIBLE_DEVICES=1,7 shows 1 of 2 devices (0 to 1).") != NULL, "%s", message);
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
