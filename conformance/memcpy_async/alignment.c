// soc: Ascend910B
// softacl-only
// env: SOFTACL_STRICT=align
// env: SOFTACL_CANN=8.5
// schedules: all
/* SOFTACL_STRICT=align enforces the 64-byte alignment of aclrtMemcpyAsync that the pages up to 8.5 require. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(2 * SIZE);
    uint8_t *device = (uint8_t *)device_memory(2 * SIZE);
    fill_pattern(pinned, 2 * SIZE, 1);

    EXPECT_TRUE((uintptr_t)pinned % 64 == 0 && (uintptr_t)device % 64 == 0, "an allocation is not aligned to 64 bytes");
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(device + 64, SIZE, pinned + 64, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    /* sizes need no alignment */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, 3, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_CODE(aclrtMemcpyAsync(device + 1, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned + 32, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pinned + 63, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000);
    /* the blocking call requires no alignment */
    EXPECT_OK(aclrtMemcpy(device + 1, SIZE, pinned + 1, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
