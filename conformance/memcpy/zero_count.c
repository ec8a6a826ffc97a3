// soc: Ascend910B
// softacl-only
// env: SOFTACL_CANN=9.0
// schedules: all
/* Up to CANN 9.0 the copy functions refuse a count of zero, after the pointer checks. */
#include "../expect.h"

#define SIZE 64

int main(void)
{
    static uint8_t a[SIZE], b[SIZE];
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(SIZE);

    EXPECT_CODE(aclrtMemcpy(NULL, SIZE, a, 0, ACL_MEMCPY_HOST_TO_HOST), 100000);       /* 1.1 version note */
    EXPECT_CODE(aclrtMemcpy(b, SIZE, NULL, 0, ACL_MEMCPY_HOST_TO_HOST), 100000);
    EXPECT_CODE(aclrtMemcpy(b, SIZE, a, 0, ACL_MEMCPY_HOST_TO_HOST), 107000);
    EXPECT_CODE(aclrtMemcpy(device, SIZE, a, 0, ACL_MEMCPY_HOST_TO_DEVICE), 107000);

    /* 1.2 row 1, version note */
    EXPECT_CODE(aclrtMemcpyAsync(NULL, SIZE, a, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 100000);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 100000);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, a, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 107000);

    EXPECT_OK(aclrtMemcpy(device, SIZE, a, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
