// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Virtual memory: access flags of mapped memory. */
#include "../expect.h"

static uint64_t access_of(void *address, aclrtMemLocation location)
{
    uint64_t flags = 99;
    EXPECT_OK(aclrtMemGetAccess(address, &location, &flags));
    return flags;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtPhysicalMemProp prop;
    memset(&prop, 0, sizeof prop);
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    size_t size = 0;
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
    aclrtDrvMemHandle handle = NULL;
    void *base = NULL;
    REQUIRE_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
    REQUIRE_OK(aclrtReserveMemAddress(&base, size, 0, NULL, 0));

    /* Memory mapped without access is unusable until access is granted. */
    REQUIRE_OK(aclrtMemMapNoAccess(base, size, 0, handle, 0));
    EXPECT_TRUE(access_of(base, prop.location) == ACL_RT_MEM_ACCESS_FLAGS_NONE, "not NONE");
    uint8_t bytes[1000];
    fill_pattern(bytes, sizeof bytes, 1);
    EXPECT_SOFTACL_CODE(aclrtMemcpy(base, size, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE), 107000);

    aclrtMemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.location = prop.location;
    desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    REQUIRE_OK(aclrtMemSetAccess(base, size, &desc, 1));
    EXPECT_TRUE(access_of((uint8_t *)base + 5, prop.location) == ACL_RT_MEM_ACCESS_FLAGS_READWRITE, "not READWRITE");
    EXPECT_OK(aclrtMemcpy(base, size, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(base, sizeof bytes, 1);

    /* Only READWRITE can be set; a refused call changes nothing. */
    const int unsupported[] = {ACL_RT_MEM_ACCESS_FLAGS_NONE, ACL_RT_MEM_ACCESS_FLAGS_READ};
    for (size_t i = 0; i < 2; i++) {
        desc.flags = (aclrtMemAccessFlags)unsupported[i];
        EXPECT_SOFTACL_CODE(aclrtMemSetAccess(base, size, &desc, 1), 207000);
        EXPECT_TRUE(access_of(base, prop.location) == ACL_RT_MEM_ACCESS_FLAGS_READWRITE, "not READWRITE");
    }
    desc.flags = (aclrtMemAccessFlags)2;
    EXPECT_SOFTACL_CODE(aclrtMemSetAccess(base, size, &desc, 1), 107000);
    EXPECT_OK(aclrtMemset(base, size, 7, 10));
    EXPECT_DEVICE_VALUE(base, 10, 7);
    EXPECT_OK(aclrtMemcpy(base, size, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE));

    /* aclrtMapMem grants the device full access and other locations none. */
    EXPECT_OK(aclrtUnmapMem(base));
    REQUIRE_OK(aclrtMapMem(base, size, 0, handle, 0));
    EXPECT_TRUE(access_of(base, prop.location) == ACL_RT_MEM_ACCESS_FLAGS_READWRITE, "not READWRITE");
    aclrtMemLocation host = {0, ACL_MEM_LOCATION_TYPE_HOST};
    EXPECT_TRUE(access_of(base, host) == ACL_RT_MEM_ACCESS_FLAGS_NONE, "not NONE for the host");
    EXPECT_DEVICE_PATTERN(base, sizeof bytes, 1);
    EXPECT_OK(aclrtUnmapMem(base));
    uint64_t flags;
    EXPECT_FAILS(aclrtMemGetAccess(base, &prop.location, &flags));
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtReleaseMemAddress(base));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
