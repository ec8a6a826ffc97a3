// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// schedules: all
// expects: C1
/* Two devices with one stream each, connected by copies between the devices. */
#include "../expect.h"

#define SIZE 2048
#define ROUNDS 20

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    uint8_t *memory[2], *pinned[2];
    aclrtStream streams[2];
    aclrtContext contexts[2];
    for (int32_t d = 0; d < 2; d++) {
        REQUIRE_OK(aclrtSetDevice(d));
        REQUIRE_OK(aclrtGetCurrentContext(&contexts[d]));
        int32_t can = 0;
        EXPECT_OK(aclrtDeviceCanAccessPeer(&can, d, 1 - d));
        EXPECT_TRUE(can == 1, "no peer access");
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1 - d, 0));
        memory[d] = (uint8_t *)device_memory(SIZE);
        pinned[d] = (uint8_t *)pinned_memory(SIZE);
        streams[d] = new_stream();
    }

    /* A stream of one device does not belong to the current context of the other. */
    REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
    /* 4.7 */
    EXPECT_CODE(aclrtMemcpyAsync(memory[1], SIZE, pinned[1], SIZE, ACL_MEMCPY_HOST_TO_DEVICE, streams[1]), 107003);
    EXPECT_OK(aclrtSynchronizeStream(streams[1]));

    for (uint32_t round = 1; round <= ROUNDS; round++) {
        fill_pattern(pinned[0], SIZE, round);
        REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
        EXPECT_OK(aclrtMemcpyAsync(memory[0], SIZE, pinned[0], SIZE, ACL_MEMCPY_HOST_TO_DEVICE, streams[0]));
        EXPECT_OK(aclrtMemcpyAsync(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, streams[0]));
        EXPECT_OK(aclrtSynchronizeStream(streams[0]));
        REQUIRE_OK(aclrtSetCurrentContext(contexts[1]));
        memset(pinned[1], 0, SIZE);
        EXPECT_OK(aclrtMemcpyAsync(pinned[1], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_HOST, streams[1]));
        EXPECT_OK(aclrtSynchronizeStream(streams[1]));
        EXPECT_PATTERN(pinned[1], SIZE, round);
    }
    for (int32_t d = 0; d < 2; d++) {
        REQUIRE_OK(aclrtSetCurrentContext(contexts[d]));
        EXPECT_OK(aclrtFree(memory[d]));
        EXPECT_OK(aclrtFreeHost(pinned[d]));
        EXPECT_OK(aclrtDestroyStream(streams[d]));
        EXPECT_OK(aclrtResetDevice(d));
    }
    return finish();
}
