// soc: Ascend910B Ascend910C Ascend950 Ascend310B
// schedules: all
/* Many descriptor copies run in stream order with each other and with ordinary copies. */
#include "../expect.h"

#define SIZE 128
#define LINKS 64
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(INNER, &size));
    uint8_t *descriptors = (uint8_t *)device_memory(LINKS * 64);
    uint8_t *cells = (uint8_t *)device_memory((LINKS + 1) * SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    for (int i = 0; i < LINKS; i++) {
        REQUIRE_OK(aclrtSetMemcpyDesc(descriptors + 64 * i, INNER, cells + i * SIZE, cells + (i + 1) * SIZE, SIZE,
                                      NULL));
    }
    for (uint32_t round = 1; round <= 3; round++) {
        fill_pattern(pinned, SIZE, round);
        EXPECT_OK(aclrtMemcpyAsync(cells, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        for (int i = 0; i < LINKS; i++) {
            EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptors + 64 * i, INNER, stream));
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(cells + LINKS * SIZE, SIZE, round);
        EXPECT_DEVICE_PATTERN(cells + LINKS / 2 * SIZE, SIZE, round);
    }
    EXPECT_OK(aclrtFree(descriptors));
    EXPECT_OK(aclrtFree(cells));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
