// soc: Ascend910B
// softacl-only
/* An absurd number of attributes is refused without iterating over them, even if
 * the array lies in pinned memory, where billions of elements would be readable. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *pinned = NULL, *device = NULL;
    REQUIRE_OK(aclrtMallocHost(&pinned, 4096));
    aclrtMallocConfig config = {(aclrtMallocAttribute *)pinned, (size_t)1 << 30};
    EXPECT_CODE(aclrtMallocWithCfg(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST, &config), 100000);
    EXPECT_CODE(aclrtMallocHostWithCfg(&device, 4096, &config), 100000);
    config.numAttrs = 0;
    REQUIRE_OK(aclrtMallocWithCfg(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    REQUIRE_OK(aclrtFree(device));
    REQUIRE_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
