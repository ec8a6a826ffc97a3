// expects: M1 R1
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Virtual memory: argument checks (7, virtual memory management). */
#include "../expect.h"

static void check_addresses(size_t granule)
{
    void *base = NULL, *other = NULL;
    EXPECT_CODE(aclrtReserveMemAddress(NULL, granule, 0, NULL, 0), 100000);
    EXPECT_CODE(aclrtReserveMemAddress(&base, 0, 0, NULL, 0), 100000);
    EXPECT_CODE(aclrtReserveMemAddress(&base, granule, 0, NULL, 2), 100000);
    EXPECT_SOFTACL_CODE(aclrtReserveMemAddress(&base, granule, 64, NULL, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtReserveMemAddress(&base, SIZE_MAX, 0, NULL, 0), 207001);
    EXPECT_SOFTACL_CODE(aclrtReserveMemAddress(&base, granule, 0, (void *)(uintptr_t)4096, 0), 107000);
    EXPECT_CODE(aclrtReleaseMemAddress(NULL), 100000);
    REQUIRE_OK(aclrtReserveMemAddress(&base, 4 * granule, 0, NULL, 1));
    EXPECT_TRUE((uintptr_t)base % granule == 0, "%p", base);
    /* A released address can be requested again. */
    REQUIRE_OK(aclrtReleaseMemAddress(base));
    EXPECT_FAILS(aclrtReleaseMemAddress(base));
    REQUIRE_OK(aclrtReserveMemAddress(&other, 4 * granule, 0, base, 0));
    EXPECT_TRUE(other == base, "%p, not %p", other, base);
    EXPECT_SOFTACL_CODE(aclrtReserveMemAddress(&base, granule, 0, (uint8_t *)other + granule, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtReleaseMemAddress((uint8_t *)other + granule), 107000);
    EXPECT_OK(aclrtReleaseMemAddress(other));
    if (family() == FAMILY_A3) {
        EXPECT_FAILS(aclrtReserveMemAddressNoUCMemory(&base, (size_t)1 << 30, 0, NULL, 0));
        EXPECT_FAILS(aclrtReserveMemAddressNoUCMemory(&base, granule, 0, (void *)((uintptr_t)40 << 40), 0));
        EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&base, (size_t)1 << 30, 0, (void *)((uintptr_t)40 << 40), 0));
        EXPECT_OK(aclrtReleaseMemAddress(base));
    } else {
        EXPECT_CODE(aclrtReserveMemAddressNoUCMemory(&base, (size_t)1 << 30, 0, (void *)((uintptr_t)40 << 40), 0),
                    207000);
    }
}

static void check_physical(size_t granule)
{
    aclrtDrvMemHandle handle = NULL;
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    EXPECT_CODE(aclrtMallocPhysical(NULL, granule, &prop, 0), 100000);
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, NULL, 0), 100000);
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, &prop, 1), 100000);
    prop.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, &prop, 0), 100000);
    prop = physical_memory_of(0);
    prop.allocationType = (aclrtMemAllocationType)1;
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, &prop, 0), 100000);
    prop = physical_memory_of(0);
    prop.location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, &prop, 0), 100000);
    prop = physical_memory_of(0);
    prop.memAttr = ACL_DDR_MEM_HUGE;
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, &prop, 0), 100000);
    prop = physical_memory_of(0);
    prop.location.id = 99;
    EXPECT_CODE(aclrtMallocPhysical(&handle, granule, &prop, 0), 107001);
    prop = physical_memory_of(0);
    EXPECT_CODE(aclrtMallocPhysical(&handle, (size_t)1 << 50, &prop, 0), 207001);
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    EXPECT_CODE(aclrtMallocPhysical(&handle, (size_t)1 << 50, &prop, 0), 207001);
    EXPECT_CODE(aclrtMallocPhysical(&handle, (size_t)1 << 63, &prop, 0), 207001);
    prop = physical_memory_of(0);
    EXPECT_SOFTACL_CODE(aclrtMallocPhysical(&handle, granule + 1, &prop, 0), 107000);
    EXPECT_CODE(aclrtFreePhysical(NULL), 100000);
    EXPECT_SOFTACL_CODE(aclrtFreePhysical((aclrtDrvMemHandle)(uintptr_t)0x1234), 107017);

    size_t size = 0;
    EXPECT_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &size));
    EXPECT_TRUE(size % granule == 0, "recommended %zu", size);
    prop.memAttr = ACL_MEM_HUGE;
    EXPECT_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
    EXPECT_TRUE(size == (size_t)2 << 20, "%zu", size);
    prop.memAttr = ACL_MEM_HUGE1G;
    if (family_has_batches()) {
        EXPECT_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
        EXPECT_TRUE(size == (size_t)1 << 30, "%zu", size);
    } else { /* no pages of 1 GiB on 310B, 310P and 910 */
        EXPECT_SOFTACL_CODE(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size),
                            207000);
    }
    EXPECT_FAILS(aclrtMemGetAllocationGranularity(NULL, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
    EXPECT_FAILS(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, NULL));
    EXPECT_FAILS(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &size));
}

static void check_mappings(size_t granule)
{
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    aclrtDrvMemHandle handle = NULL, freed = NULL;
    void *base = NULL;
    REQUIRE_OK(aclrtReserveMemAddress(&base, 4 * granule, 0, NULL, 0));
    REQUIRE_OK(aclrtMallocPhysical(&handle, granule, &prop, 0));
    REQUIRE_OK(aclrtMallocPhysical(&freed, granule, &prop, 0));
    REQUIRE_OK(aclrtFreePhysical(freed));
    EXPECT_CODE(aclrtMapMem(NULL, granule, 0, handle, 0), 100000);
    EXPECT_CODE(aclrtMapMem(base, 0, 0, handle, 0), 100000);
    EXPECT_CODE(aclrtMapMem(base, granule, 0, NULL, 0), 100000);
    EXPECT_CODE(aclrtMapMem(base, granule, 0, handle, 1), 100000);
    EXPECT_CODE(aclrtMemMapNoAccess(base, granule, 0, handle, 1), 100000);
    EXPECT_SOFTACL_CODE(aclrtMapMem(base, granule, 0, freed, 0), 107017);
    EXPECT_FAILS(aclrtFreePhysical(freed));
    EXPECT_SOFTACL_CODE(aclrtMapMem(base, granule / 2, 0, handle, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtMapMem(base, granule, 4096, handle, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtMapMem((uint8_t *)base + 4096, granule, 0, handle, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtMapMem((uint8_t *)base + 4 * granule, granule, 0, handle, 0), 107000);
    EXPECT_CODE(aclrtUnmapMem(NULL), 100000);
    EXPECT_SOFTACL_CODE(aclrtUnmapMem(base), 107000);
    REQUIRE_OK(aclrtMapMem(base, granule, 0, handle, 0));
    EXPECT_SOFTACL_CODE(aclrtMapMem(base, granule, 0, handle, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtUnmapMem((uint8_t *)base + 1), 107000);
    EXPECT_SOFTACL_CODE(aclrtReleaseMemAddress(base), 107000);
    EXPECT_FAILS(aclrtFree(base));

    /* A range holds memory of one device only. */
    uint32_t count = 0;
    EXPECT_OK(aclrtGetDeviceCount(&count));
    if (count > 1) {
        aclrtDrvMemHandle other = NULL;
        prop.location.id = 1;
        REQUIRE_OK(aclrtMallocPhysical(&other, granule, &prop, 0));
        EXPECT_SOFTACL_CODE(aclrtMapMem((uint8_t *)base + granule, granule, 0, other, 0), 107000);
        EXPECT_OK(aclrtFreePhysical(other));
    }

    aclrtDrvMemHandle retained = NULL;
    aclrtMemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    desc.location = physical_memory_of(0).location;
    uint64_t flags = 0;
    EXPECT_FAILS(aclrtMemRetainAllocationHandle(NULL, &retained));
    EXPECT_FAILS(aclrtMemRetainAllocationHandle(base, NULL));
    EXPECT_SOFTACL_CODE(aclrtMemRetainAllocationHandle((uint8_t *)base + granule, &retained), 107000);
    EXPECT_CODE(aclrtMemSetAccess(NULL, granule, &desc, 1), 107000);
    EXPECT_CODE(aclrtMemSetAccess(base, granule, NULL, 1), 107000);
    EXPECT_CODE(aclrtMemSetAccess(base, granule, &desc, 0), 107000);
    EXPECT_FAILS(aclrtMemSetAccess((uint8_t *)base + granule, granule, &desc, 1));
    EXPECT_FAILS(aclrtMemGetAccess(NULL, &desc.location, &flags));
    EXPECT_FAILS(aclrtMemGetAccess(base, NULL, &flags));
    EXPECT_FAILS(aclrtMemGetAccess(base, &desc.location, NULL));
    EXPECT_FAILS(aclrtMemGetAllocationPropertiesFromHandle(NULL, &prop));
    EXPECT_FAILS(aclrtMemGetAllocationPropertiesFromHandle(handle, NULL));
    EXPECT_FAILS(aclrtMemGetAllocationPropertiesFromHandle(freed, &prop));

    /* Sharing. */
    uint64_t shareable = 0;
    int32_t pid = 1;
    EXPECT_CODE(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_POSIX, 0, &shareable), 100000);
    EXPECT_CODE(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 2, &shareable), 107000);
    EXPECT_FAILS(aclrtMemExportToShareableHandle(NULL, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    EXPECT_FAILS(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, NULL));
    EXPECT_CODE(aclrtMemExportToShareableHandleV2(handle, 0, (aclrtMemSharedHandleType)3, &shareable), 107000);
    EXPECT_FAILS(aclrtMemExportToShareableHandleV2(handle, 2, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &shareable));
    if (family() != FAMILY_A3) {
        aclrtMemFabricHandle fabric;
        EXPECT_SOFTACL_CODE(aclrtMemExportToShareableHandleV2(handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
                            207000);
    }
    REQUIRE_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    EXPECT_FAILS(aclrtMemSetPidToShareableHandle(shareable, NULL, 1));
    EXPECT_FAILS(aclrtMemSetPidToShareableHandle(shareable, &pid, 0));
    EXPECT_FAILS(aclrtMemSetPidToShareableHandle(shareable ^ 1, &pid, 1));
    EXPECT_OK(aclrtMemSetPidToShareableHandle(shareable, &pid, 1));
    EXPECT_OK(aclrtMemSetPidToShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &pid, 1));
    EXPECT_FAILS(aclrtMemImportFromShareableHandle(shareable, 0, NULL));
    EXPECT_CODE(aclrtMemImportFromShareableHandle(shareable, 99, &retained), 107001);
    EXPECT_FAILS(aclrtMemImportFromShareableHandle(12345, 0, &retained));
    EXPECT_FAILS(aclrtMemImportFromShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 1, &retained));
    EXPECT_FAILS(aclrtMemImportFromShareableHandleV2(NULL, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &retained));

    EXPECT_OK(aclrtUnmapMem(base));
    EXPECT_FAILS(aclrtUnmapMem(base));
    EXPECT_OK(aclrtFreePhysical(handle));
    /* Freeing the memory invalidates the shareable handle. */
    EXPECT_FAILS(aclrtMemSetPidToShareableHandle(shareable, &pid, 1));
    EXPECT_OK(aclrtReleaseMemAddress(base));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    size_t granule = 0;
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule));
    check_addresses(granule);
    check_physical(granule);
    check_mappings(granule);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
