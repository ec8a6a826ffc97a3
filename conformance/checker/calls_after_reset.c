// soc: Ascend910B
// softacl-only
// must-find: L2
/* Calls on a thread whose context a reset destroyed are reported as late calls (L2), not as a missing device. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtResetDevice(0));
    aclrtStream stream;
    EXPECT_CODE(aclrtCreateStream(&stream), 107002); /* L2 */
    void *block;
    EXPECT_CODE(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 107002); /* L2 */
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtCreateStream(&stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
