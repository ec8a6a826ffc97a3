// soc: Ascend910B
// softacl-only
// must-find: L2
/* A context that a reset destroyed is made current. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext context;
    REQUIRE_OK(aclrtGetCurrentContext(&context));
    EXPECT_OK(aclrtSetCurrentContext(context));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_CODE(aclrtSetCurrentContext(context), 107000); /* L2 */
    return finish();
}
