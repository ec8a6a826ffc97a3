// soc: Ascend910B
// softacl-only
// must-find: H1 H3 S2
/* A host function ahead of a copy hides nothing that it does not wait for. */
#include "../expect.h"
#include <stdatomic.h>

#define SIZE 4096

static atomic_int count;

static void completed(void *argument)
{
    (void)argument;
    atomic_fetch_add(&count, 1);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    volatile uint8_t *from = (volatile uint8_t *)pinned_memory(SIZE), *to = (volatile uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(2 * SIZE);
    memset((void *)from, 1, SIZE);
    EXPECT_OK(aclrtMemset(device, 2 * SIZE, 1, 2 * SIZE));
    EXPECT_OK(aclrtLaunchHostFunc(stream, completed, NULL));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, (void *)from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    from[9] = 2; /* H1 */
    EXPECT_OK(aclrtLaunchHostFunc(stream, completed, NULL));
    EXPECT_OK(aclrtMemcpyAsync((void *)to, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    (void)to[9]; /* H3 */
    EXPECT_OK(aclrtLaunchHostFunc(stream, completed, NULL));
    EXPECT_OK(aclrtMemsetAsync(device + SIZE, SIZE, 2, SIZE, stream));
    EXPECT_OK(aclrtMemset(device + SIZE, SIZE, 3, SIZE)); /* S2 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(atomic_load(&count) == 3, "%d functions have run", atomic_load(&count));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost((void *)from));
    EXPECT_OK(aclrtFreeHost((void *)to));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
