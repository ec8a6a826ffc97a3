// soc: Ascend910B
// softacl-only
// env: SOFTACL_MEMORY=64MiB
// must-find: R1
/* Using the result of a failed allocation is reported (R1). */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *block = NULL;
    EXPECT_CODE(aclrtMalloc(&block, (size_t)128 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 207001); /* R1 */
    EXPECT_FAILS(aclrtMemset(block, 4096, 0, 4096));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
