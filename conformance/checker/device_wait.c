// soc: Ascend910B
// softacl-only
// must-find: H3
/* aclrtSynchronizeDevice waits for the streams one after the other. A
 * host function of one stream is not ordered after the copies of another. */
#include "../expect.h"

#define SIZE 4096

static volatile uint8_t *host;
static int early;

static void read_host(void *unused)
{
    (void)unused;
    __atomic_store_n(&early, host[5] + 1, __ATOMIC_RELEASE); /* H3 */
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream copying = new_stream(), other = new_stream();
    host = (volatile uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtMemcpyAsync((void *)host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, copying));
    EXPECT_OK(aclrtLaunchHostFunc(other, read_host, NULL));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_TRUE(__atomic_load_n(&early, __ATOMIC_ACQUIRE) > 0 && host[5] == 1, "the function did not run");
    EXPECT_OK(aclrtFreeHost((void *)host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(copying));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
