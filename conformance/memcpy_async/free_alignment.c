// soc: Ascend910B
// softacl-only
// env: SOFTACL_STRICT=align
// env: SOFTACL_CANN=9.0
/* The pages from 9.0 on require no alignment of aclrtMemcpyAsync, so strict mode has nothing to enforce. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(2 * SIZE);
    uint8_t *device = (uint8_t *)device_memory(2 * SIZE);
    fill_pattern(pinned + 3, SIZE, 1);
    EXPECT_OK(aclrtMemcpyAsync(device + 1, SIZE, pinned + 3, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device + 1, SIZE, 1);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
