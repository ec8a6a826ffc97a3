// soc: Ascend910B
// softacl-only
// sanitize: none (the race is the subject)
// must-find: H1
// must-count: H3
/* The host changes managed memory while a copy reads it. What a task wrote before the copy is no change. The memory set
 * cannot be judged as a destination, and is counted. */
#include "../expect.h"

#define SIZE 8192

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    void *memory;
    REQUIRE_OK(aclrtMemAllocManaged(&memory, SIZE, ACL_RT_MEM_ATTACH_GLOBAL));
    volatile uint8_t *managed = (volatile uint8_t *)memory;
    memset(memory, 1, SIZE);
    EXPECT_OK(aclrtMemsetAsync(memory, SIZE, 2, SIZE, stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, 77, 2);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    managed[77] = 9; /* H1 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(memory));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
