// soc: Ascend910B
// softacl-only
// must-find: L2
/* Freeing device memory that a reset already released is reported as a late call (L2), not as a wrong address. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *block = device_memory(4096);
    EXPECT_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_CODE(aclrtFree(block), 107000); /* L2 */
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
