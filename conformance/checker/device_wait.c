// soc: Ascend910B
// softacl-only
// finds: H3
/* A wait for the device waits for one stream after the other; a function of the second one is not told that the first is done. */
#include "../expect.h"

#define SIZE 4096

static volatile uint8_t *host;
static int early;

static void look(void *unused)
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
    EXPECT_OK(aclrtLaunchHostFunc(other, look, NULL));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_TRUE(__atomic_load_n(&early, __ATOMIC_ACQUIRE) > 0 && host[5] == 1, "the function ran");
    EXPECT_OK(aclrtFreeHost((void *)host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(copying));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
