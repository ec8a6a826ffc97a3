// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Memory that is mapped at reserved addresses is copied between two devices of one process by asynchronous copies
 * only. Within a device, and with the host, blocking copies work. */
#include "../expect.h"

#define BYTES 3000

int main(void)
{
    aclrtPhysicalMemProp prop = physical_memory_of(1);
    size_t size = 0;
    void *base = NULL;
    aclrtDrvMemHandle handle = NULL;
    REQUIRE_OK(aclrtSetDevice(1));
    uint8_t *remote = (uint8_t *)device_memory(BYTES);
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
    REQUIRE_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
    REQUIRE_OK(aclrtReserveMemAddress(&base, size, 0, NULL, 0));
    REQUIRE_OK(aclrtMapMem(base, size, 0, handle, 0));
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *local = (uint8_t *)device_memory(BYTES);
    aclrtStream stream = new_stream();
    EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));

    device_fill(base, BYTES, 1);
    EXPECT_DEVICE_PATTERN(base, BYTES, 1);
    REQUIRE_OK(aclrtMemset(local, BYTES, 0, BYTES));
    EXPECT_SOFTACL_CODE(aclrtMemcpy(local, BYTES, base, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_DEVICE_VALUE(local, BYTES, 0);
    EXPECT_SOFTACL_CODE(aclrtMemcpy(base, BYTES, local, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_DEVICE_PATTERN(base, BYTES, 1);
    EXPECT_OK(aclrtMemcpyAsync(local, BYTES, base, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(local, BYTES, 1);
    device_fill(local, BYTES, 2);
    EXPECT_OK(aclrtMemcpyAsync(base, BYTES, local, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(base, BYTES, 2);
    EXPECT_OK(aclrtMemcpy(remote, BYTES, base, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE)); /* within device 1 */
    EXPECT_DEVICE_PATTERN(remote, BYTES, 2);
    EXPECT_OK(aclrtMemcpy(local, BYTES, remote, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE)); /* allocated on both sides */

    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(local));
    EXPECT_OK(aclrtFree(remote));
    EXPECT_OK(aclrtUnmapMem(base));
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtReleaseMemAddress(base));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
