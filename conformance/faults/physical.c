// softacl-only
// soc: Ascend910B Ascend910C Ascend950
// env: SOFTACL_FAULTS=allocation@1=207001; allocation@2=ecc 4KiB+64; aclrtResetDevice[device=1]@1=lost; aclInit=lost
// schedules: all
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Allocation rules apply to physical memory. Bad bytes stay
 * bad wherever the memory is mapped, until they are repaired. */
#include "../expect.h"

#define GRANULE ((size_t)2 << 20)
#define SIZE 8192

int main(void)
{
    /* A `lost` rule on a call without a device has no effect. */
    REQUIRE_OK(aclInit(NULL));
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    char *base = NULL;
    aclrtDrvMemHandle memory = NULL, other = NULL;
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    aclrtMemUceInfo found[4];
    size_t count = 9, before = 0, after = 0, total = 0;

    REQUIRE_OK(aclrtReserveMemAddress((void **)&base, 2 * GRANULE, 0, NULL, 1));
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    EXPECT_CODE(aclrtMallocPhysical(&memory, GRANULE, &prop, 0), 207001);
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    EXPECT_TRUE(before == after, "%zu bytes free, %zu before", after, before);
    REQUIRE_OK(aclrtMallocPhysical(&memory, GRANULE, &prop, 0));
    REQUIRE_OK(aclrtMallocPhysical(&other, GRANULE, &prop, 0));

    /* Unmapped bad memory has no address and is not listed. */
    EXPECT_OK(aclrtGetMemUceInfo(0, found, 4, &count));
    EXPECT_TRUE(count == 0, "%zu", count);
    for (int round = 0; round < 2; round++) {
        char *address = base + (size_t)round * GRANULE, *other_address = base + (size_t)(1 - round) * GRANULE;
        REQUIRE_OK(aclrtMapMem(address, GRANULE, 0, memory, 0));
        REQUIRE_OK(aclrtMapMem(other_address, GRANULE, 0, other, 0));
        EXPECT_OK(aclrtMemcpy(address, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE));
        EXPECT_CODE(aclrtMemcpy(address, 4097, pinned, 4097, ACL_MEMCPY_HOST_TO_DEVICE), 507054);
        EXPECT_CODE(aclrtMemcpy(pinned, 1, address + 4159, 1, ACL_MEMCPY_DEVICE_TO_HOST), 507054);
        EXPECT_OK(aclrtMemset(other_address, SIZE, 1, SIZE));
        EXPECT_OK(aclrtGetMemUceInfo(0, found, 4, &count));
        EXPECT_TRUE(count == 1 && found[0].addr == address + 4096 && found[0].len == 64, "%zu: %p", count,
                    found[0].addr);
        if (round == 1) {
            EXPECT_OK(aclrtMemUceRepair(0, found, 1));
            EXPECT_OK(aclrtMemset(address, SIZE, 1, SIZE));
        }
        EXPECT_OK(aclrtUnmapMem(address));
        EXPECT_OK(aclrtUnmapMem(other_address));
        EXPECT_OK(aclrtGetMemUceInfo(0, found, 4, &count));
        EXPECT_TRUE(count == 0, "%zu", count);
    }
    /* A repair persists across mappings. */
    REQUIRE_OK(aclrtMapMem(base, GRANULE, 0, memory, 0));
    EXPECT_OK(aclrtMemset(base, SIZE, 1, SIZE));
    EXPECT_OK(aclrtUnmapMem(base));

    /* The rule affects the device that the call names, not the current one. */
    aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
    aclrtDrvMemHandle none = NULL;
    REQUIRE_OK(aclrtSetDevice(1));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_CODE(aclrtResetDevice(1), 507010);
    EXPECT_OK(aclrtQueryDeviceStatus(0, &status));
    EXPECT_TRUE(status == ACL_RT_DEVICE_STATUS_NORMAL, "%d", status);
    EXPECT_OK(aclrtQueryDeviceStatus(1, &status));
    EXPECT_TRUE(status == ACL_RT_DEVICE_STATUS_ABNORMAL, "%d", status);
    prop = physical_memory_of(1);
    EXPECT_CODE(aclrtMallocPhysical(&none, GRANULE, &prop, 0), 507010);
    EXPECT_OK(aclrtMemset(pinned, SIZE, 1, SIZE));
    EXPECT_OK(aclrtResetDevice(1));
    EXPECT_OK(aclrtQueryDeviceStatus(1, &status));
    EXPECT_TRUE(status == ACL_RT_DEVICE_STATUS_NORMAL, "%d", status);

    EXPECT_OK(aclrtFreePhysical(memory));
    EXPECT_OK(aclrtFreePhysical(other));
    EXPECT_OK(aclrtReleaseMemAddress(base));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
