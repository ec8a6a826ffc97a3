// soc: Ascend910B
// softacl-only
// must-find: H1
/* An unrelated host function of another stream does not hide a change to the source of a copy. */
#include "../expect.h"

#define PAGE 4096

static void do_nothing(void *unused)
{
    (void)unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *host = (uint8_t *)pinned_memory(PAGE), *device = (uint8_t *)device_memory(PAGE);
    memset(host, 1, PAGE);
    EXPECT_OK(aclrtMemcpyAsync(device, PAGE, host, PAGE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    host[100] = 9; /* H1 */
    EXPECT_OK(aclrtLaunchHostFunc(other, do_nothing, NULL));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
