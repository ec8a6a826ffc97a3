// soc: Ascend910B
// softacl-only
// must-find: H3
/* The host may use the bytes between two copy destinations in one
 * page. Doing so does not hide a later access to the destinations. */
#include "../expect.h"

#define PAGE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    volatile uint8_t *host = (volatile uint8_t *)pinned_memory(PAGE);
    uint8_t *device = (uint8_t *)device_memory(PAGE);
    EXPECT_OK(aclrtMemset(device, PAGE, 1, PAGE));
    EXPECT_OK(aclrtMemcpyAsync((void *)host, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemcpyAsync((void *)(host + 3072), 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    host[2000] = 7;
    uint8_t early = host[3080]; /* H3 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(host[3080] == 1 && (early == 1 || early == 0), "byte 3080 is %d, earlier %d", host[3080], early);
    EXPECT_TRUE(host[2000] == 7, "byte 2000 is %d", host[2000]);
    EXPECT_OK(aclrtFreeHost((void *)host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
