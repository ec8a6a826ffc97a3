// soc: Ascend910B
// softacl-only
// must-find: H3
/* Two streams wait for values that the program writes in ways the checker
 * cannot observe. Once both waits have passed, they permit no further accesses. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream(), other = new_stream();
    uint64_t *cells = (uint64_t *)device_memory(SIZE);
    volatile uint8_t *host = (volatile uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint64_t one = 1;
    EXPECT_OK(aclrtMemset(cells, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtValueWait(cells, 1, ACL_STREAM_WAIT_VALUE_GEQ, first));
    EXPECT_OK(aclrtValueWait(cells + 8, 1, ACL_STREAM_WAIT_VALUE_GEQ, second));
    EXPECT_OK(aclrtValueWrite(cells + 8, 1, 0, other));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_OK(aclrtMemcpy(cells, sizeof one, &one, sizeof one, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_OK(aclrtSynchronizeDevice());

    EXPECT_OK(aclrtMemcpyAsync((void *)host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, other));
    (void)host[5]; /* H3 */
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtFree(cells));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost((void *)host));
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtDestroyStream(second));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
