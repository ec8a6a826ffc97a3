// softacl-only
// soc: Ascend910B Ascend910C
// env: SOFTACL_DEVICES=3
// env: SOFTACL_FAULTS=link[device=0, peer=1]@3=lost; link[device=1, peer=2]@2=507899
// schedules: all
/* After a link between two devices is lost, copies over it fail until it is repaired; other copies succeed. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    uint8_t *memory[3];
    aclrtStream stream = NULL;
    for (int i = 2; i >= 0; i--) {
        REQUIRE_OK(aclrtSetDevice(i));
        memory[i] = (uint8_t *)device_memory(SIZE);
        for (int peer = 0; peer < 3; peer++) {
            if (peer != i) {
                REQUIRE_OK(aclrtDeviceEnablePeerAccess(peer, 0));
            }
        }
    }
    stream = new_stream(); /* on device 0 */
    device_fill(memory[0], SIZE, 1);

    aclrtErrorInfo info;
    EXPECT_OK(aclrtGetErrorVerbose(0, &info));
    EXPECT_TRUE(info.errorType == ACL_RT_NO_ERROR && !info.tryRepair && !info.hasDetail, "type %d", info.errorType);
    EXPECT_OK(aclrtMemcpy(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_OK(aclrtMemcpyAsync(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    /* From the third copy on: a queued copy fails at the wait, a blocking copy during the call, in both directions. */
    EXPECT_OK(aclrtMemcpyAsync(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507056);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_CODE(aclrtMemcpy(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507056);
    EXPECT_CODE(aclrtMemcpy(memory[0], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507056);
    /* Other links and copies to the host are unaffected. */
    EXPECT_OK(aclrtMemcpy(memory[2], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(memory[2], SIZE, 1);
    EXPECT_DEVICE_PATTERN(memory[1], SIZE, 1);
    /* A single failure of another link. */
    EXPECT_OK(aclrtMemcpy(memory[2], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_CODE(aclrtMemcpy(memory[2], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_OK(aclrtMemcpy(memory[2], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));

    for (int device = 0; device < 3; device++) {
        EXPECT_OK(aclrtGetErrorVerbose(device, &info));
        EXPECT_TRUE(info.errorType == (device < 2 ? ACL_RT_ERROR_LINK : ACL_RT_NO_ERROR), "device %d: %d", device,
                    info.errorType);
    }
    EXPECT_OK(aclrtGetErrorVerbose(1, &info));
    EXPECT_TRUE(info.tryRepair, "tryRepair is not set");
    EXPECT_OK(aclrtRepairError(1, &info));
    EXPECT_OK(aclrtGetErrorVerbose(0, &info));
    EXPECT_TRUE(info.errorType == ACL_RT_NO_ERROR, "type %d", info.errorType);
    EXPECT_OK(aclrtMemcpyAsync(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));

    EXPECT_OK(aclrtDestroyStream(stream));
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(aclrtFree(memory[i]));
        EXPECT_OK(aclrtResetDevice(i));
    }
    return finish();
}
