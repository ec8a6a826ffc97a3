// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// schedules: all
// expects: C1
/* Correction 5: a copy on a stream of another device fails with 107003, also with pageable memory. */
#include "../expect.h"

#define SIZE 512

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    REQUIRE_OK(aclrtSetDevice(1));
    aclrtStream foreign = new_stream();
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream own = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
    fill_pattern(pinned, SIZE, 1);
    fill_pattern(pageable, SIZE, 1);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, foreign), 107003);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, foreign), 107003);
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, foreign), 107003);
    EXPECT_SOFTACL_CODE(
        aclrtMemcpy2dAsync(device, 64, pageable, 64, 64, SIZE / 64, ACL_MEMCPY_HOST_TO_DEVICE, foreign), 107003);
    EXPECT_PATTERN(pageable, SIZE, 1);
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, own));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(own));
    EXPECT_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtDestroyStream(foreign));
    EXPECT_OK(aclrtResetDevice(1));
    EXPECT_OK(aclrtResetDevice(1));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
