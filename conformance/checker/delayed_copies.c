// soc: Ascend910B
// softacl-only
// env: SOFTACL_FAULTS=copy@1=slow 1us; copy@2=slow 1us; copy@3=slow 1us; copy@5=507057
// must-find: H1 H3 S1 S2
/* A copy that a fault rule delays or fails is in flight like any other, and so are the copies behind it. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    volatile uint8_t *from = (volatile uint8_t *)pinned_memory(SIZE), *to = (volatile uint8_t *)pinned_memory(SIZE);
    volatile uint8_t *again = (volatile uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    memset((void *)from, 1, SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, (void *)from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream)); /* slow */
    from[9] = 2; /* H1 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync((void *)to, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream)); /* slow */
    (void)to[9]; /* H3 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, (void *)from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream)); /* slow */
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 3, SIZE, other)); /* S1 */
    EXPECT_OK(aclrtMemset(device, SIZE, 3, SIZE)); /* S2 */
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, (void *)from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync((void *)again, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream)); /* fails */
    (void)again[9]; /* H3 */
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507057);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost((void *)from));
    EXPECT_OK(aclrtFreeHost((void *)to));
    EXPECT_OK(aclrtFreeHost((void *)again));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
