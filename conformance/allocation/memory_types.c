// soc: all
/* aclrtCheckMemType: 1 if all addresses have one of the given types. */
#include "../expect.h"

#define SIZE 64

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *device = (uint8_t *)device_memory(SIZE), *other = (uint8_t *)device_memory(SIZE);
    void *pinned = pinned_memory(SIZE), *freed = device_memory(SIZE);
    uint32_t result = 7;
    void *addresses[3] = {device, other + 5, device + SIZE - 1};
    EXPECT_OK(aclrtFree(freed));
    EXPECT_OK(aclrtCheckMemType(addresses, 3, ACL_RT_MEM_TYPE_DEV, &result, 0));
    EXPECT_TRUE(result == 1, "%u for device memory", result);
    EXPECT_OK(aclrtCheckMemType(addresses, 3, ACL_RT_MEM_TYPE_DVPP, &result, 0));
    EXPECT_TRUE(result == 0, "%u: not memory for media", result);
    EXPECT_OK(aclrtCheckMemType(addresses, 3, ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_DEV, &result, 0));
    EXPECT_TRUE(result == 1, "%u for one of two types", result);
    addresses[1] = pinned;
    EXPECT_OK(aclrtCheckMemType(addresses, 3, ACL_RT_MEM_TYPE_DEV, &result, 0));
    EXPECT_TRUE(result == 0, "%u with host memory among the addresses", result);
    EXPECT_OK(aclrtCheckMemType(addresses, 1, ACL_RT_MEM_TYPE_DEV, &result, 0));
    EXPECT_TRUE(result == 1, "%u without it", result);
    addresses[1] = freed;
    EXPECT_OK(aclrtCheckMemType(addresses, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    EXPECT_TRUE(result == 0, "%u with freed memory among the addresses", result);
    EXPECT_CODE(aclrtCheckMemType(NULL, 3, ACL_RT_MEM_TYPE_DEV, &result, 0), 100000);
    EXPECT_CODE(aclrtCheckMemType(addresses, 3, ACL_RT_MEM_TYPE_DEV, NULL, 0), 100000);
    EXPECT_FAILS(aclrtCheckMemType(addresses, 0, ACL_RT_MEM_TYPE_DEV, &result, 0));
    EXPECT_FAILS(aclrtCheckMemType(addresses, 3, 0, &result, 0));
    EXPECT_FAILS(aclrtCheckMemType(addresses, 3, 0x100, &result, 0));
    EXPECT_FAILS(aclrtCheckMemType(addresses, 3, ACL_RT_MEM_TYPE_DEV, &result, 1));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
