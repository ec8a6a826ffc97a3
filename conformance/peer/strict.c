// soc: Ascend910B Ascend950 Ascend310P
// softacl-only
// env: SOFTACL_STRICT=peer
/* SOFTACL_STRICT=peer requires peer access in both directions, as some drivers do, and refuses a copy at the call. */
#include "../expect.h"

#define SIZE 512

static uint8_t *memory[2];
static aclrtStream stream;

static void expect_copies(aclError code, int32_t status)
{
    int32_t found = -1;
    EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &found));
    EXPECT_TRUE(found == status, "status %d", found);
    for (int to = 0; to < 2; to++) {
        EXPECT_CODE(aclrtMemcpy(memory[to], SIZE, memory[1 - to], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), code);
        EXPECT_CODE(aclrtMemcpyAsync(memory[to], SIZE, memory[1 - to], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
                    code);
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }
}

int main(void)
{
    for (int32_t device = 1; device >= 0; device--) {
        REQUIRE_OK(aclrtSetDevice(device));
        memory[device] = (uint8_t *)device_memory(SIZE);
        REQUIRE_OK(aclrtMemset(memory[device], SIZE, 0, SIZE));
    }
    stream = new_stream();
    expect_copies(507899, 0);
    EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
    expect_copies(507899, 0); /* one direction is not enough */
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtDeviceEnablePeerAccess(0, 0));
    REQUIRE_OK(aclrtSetDevice(0));
    expect_copies(0, 1);
    EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
    expect_copies(507899, 0);

    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(memory[0]));
    EXPECT_OK(aclrtFree(memory[1]));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
