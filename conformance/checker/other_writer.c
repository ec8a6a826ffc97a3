// soc: Ascend910B
// softacl-only
// must-find: H1
/* A host function of another stream, which no event orders with a copy, must not change the source of that copy. */
#include "../expect.h"

#define PAGE 4096

static void write_byte(void *byte)
{
    *(uint8_t *)byte = 9;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *host = (uint8_t *)pinned_memory(PAGE), *device = (uint8_t *)device_memory(PAGE);
    memset(host, 1, PAGE);
    EXPECT_OK(aclrtMemcpyAsync(device, PAGE, host, PAGE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtLaunchHostFunc(other, write_byte, host + 100)); /* H1 */
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
