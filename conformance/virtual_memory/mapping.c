// schedules: all
// expects: L3 M1
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Virtual memory: aliased mappings, retained handles, capacity,
 * many handles, host memory, and unmapping while copies are queued. */
#include "../expect.h"

static aclrtPhysicalMemProp prop;
static size_t granule;

static aclrtDrvMemHandle allocate_physical(size_t size)
{
    aclrtDrvMemHandle handle = NULL;
    REQUIRE_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
    return handle;
}

static uint8_t *reserve(size_t size)
{
    void *base = NULL;
    REQUIRE_OK(aclrtReserveMemAddress(&base, size, 0, NULL, 0));
    return (uint8_t *)base;
}

/* Maps one memory at two addresses, concurrently and one after the other. */
static void check_aliases(aclrtStream stream)
{
    aclrtDrvMemHandle handle = allocate_physical(granule), retained = NULL;
    uint8_t *a = reserve(granule), *b = reserve(2 * granule);
    REQUIRE_OK(aclrtMapMem(a, granule, 0, handle, 0));
    REQUIRE_OK(aclrtMapMem(b + granule, granule, 0, handle, 0));
    device_fill(a + 100, 5000, 1);
    EXPECT_DEVICE_PATTERN(b + granule + 100, 5000, 1);
    EXPECT_OK(aclrtMemcpyAsync(b + granule, 50, a + 100, 50, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(a, 50, 1);

    void *start = NULL;
    size_t size = 0;
    EXPECT_OK(aclrtMemGetAddressRange(b + granule + 7, &start, &size));
    EXPECT_TRUE(start == b + granule && size == granule, "%p, %zu", start, size);
    aclrtPtrAttributes attributes;
    EXPECT_OK(aclrtPointerGetAttributes(a + granule - 1, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 0,
                "wrong location");

    /* Addresses beyond a mapping and without one. */
    uint8_t byte;
    EXPECT_SOFTACL_CODE(aclrtMemcpy(&byte, 1, b, 1, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    EXPECT_SOFTACL_CODE(aclrtMemset(a, granule + 1, 0, granule + 1), 107000);

    /* A retained handle is an additional reference; the contents live until the last reference is released. */
    REQUIRE_OK(aclrtMemRetainAllocationHandle(a + 1000, &retained));
    aclrtPhysicalMemProp found;
    EXPECT_OK(aclrtMemGetAllocationPropertiesFromHandle(retained, &found));
    EXPECT_TRUE(found.memAttr == prop.memAttr && found.location.type == ACL_MEM_LOCATION_TYPE_DEVICE,
                "wrong properties");
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtUnmapMem(a));
    EXPECT_OK(aclrtUnmapMem(b + granule));
    EXPECT_FAILS(aclrtMemGetAddressRange(a, &start, &size));
    REQUIRE_OK(aclrtMapMem(b, granule, 0, retained, 0));
    EXPECT_DEVICE_PATTERN(b + 100, 5000, 1);
    EXPECT_OK(aclrtFreePhysical(retained));
    EXPECT_DEVICE_PATTERN(b + 100, 5000, 1);
    EXPECT_OK(aclrtUnmapMem(b));
    EXPECT_OK(aclrtReleaseMemAddress(a));
    EXPECT_OK(aclrtReleaseMemAddress(b));
}

/* Physical memory counts against the capacity from its allocation on; reserved addresses do not. */
static void check_capacity(void)
{
    size_t free_before = 0, free_now = 0, total = 0;
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    uint8_t *base = reserve((size_t)72 << 30);
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    EXPECT_TRUE(free_now == free_before, "%zu of %zu", free_now, free_before);
    aclrtDrvMemHandle handle = allocate_physical(4 * granule);
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    EXPECT_TRUE(free_now == free_before - 4 * granule, "%zu of %zu", free_now, free_before);
    EXPECT_OK(aclrtMapMem(base + 8 * granule, 4 * granule, 0, handle, 0));
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    EXPECT_TRUE(free_now == free_before - 4 * granule, "%zu of %zu", free_now, free_before);
    EXPECT_OK(aclrtUnmapMem(base + 8 * granule));
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    EXPECT_TRUE(free_now == free_before, "%zu of %zu", free_now, free_before);
    EXPECT_OK(aclrtReleaseMemAddress(base));
}

/* More handles than a process may usually open files. */
static void check_many_handles(void)
{
    enum { COUNT = 1500 };
    static aclrtDrvMemHandle handles[COUNT];
    uint8_t *base = reserve(COUNT * granule);
    for (size_t i = 0; i < COUNT; i++) {
        handles[i] = allocate_physical(granule);
        REQUIRE_OK(aclrtMapMem(base + i * granule, granule, 0, handles[i], 0));
    }
    /* One memset across several mappings. */
    EXPECT_OK(aclrtMemset(base + granule / 2, 3 * granule, 0x5a, 3 * granule));
    EXPECT_DEVICE_VALUE(base + granule / 2, 3 * granule, 0x5a);
    FILE *file = fopen("/proc/self/status", "r");
    EXPECT_TRUE(file != NULL, "the program cannot open files");
    if (file != NULL) {
        fclose(file);
    }
    for (size_t i = 0; i < COUNT; i++) {
        EXPECT_OK(aclrtUnmapMem(base + i * granule));
        EXPECT_OK(aclrtFreePhysical(handles[i]));
    }
    EXPECT_OK(aclrtReleaseMemAddress(base));
}

/* Physical memory on the host, which the program can access directly. */
static void check_host_memory(aclrtStream stream)
{
    aclrtPhysicalMemProp device_prop = prop;
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    prop.memAttr = ACL_MEM_HUGE;
    aclrtDrvMemHandle handle = allocate_physical(granule);
    prop = device_prop;
    uint8_t *host = reserve(granule);
    REQUIRE_OK(aclrtMapMem(host, granule, 0, handle, 0));
    aclrtPtrAttributes attributes;
    EXPECT_OK(aclrtPointerGetAttributes(host, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST, "type %d", (int)attributes.location.type);
    fill_pattern(host, 3000, 9);
    void *device = device_memory(3000);
    EXPECT_OK(aclrtMemcpyAsync(device, 3000, host, 3000, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(host + 4096, 3000, device, 3000, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(host + 4096, 3000, 9);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtUnmapMem(host));
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtReleaseMemAddress(host));
}

/* Unmapping with queued copies, and a reset with mapped memory, may return errors but never crash. */
static void check_unmapping(aclrtStream stream)
{
    aclrtDrvMemHandle handle = allocate_physical(granule);
    uint8_t *base = reserve(granule);
    uint8_t *pinned = (uint8_t *)pinned_memory(granule);
    fill_pattern(pinned, granule, 5);
    for (int round = 0; round < 20; round++) {
        REQUIRE_OK(aclrtMapMem(base, granule, 0, handle, 0));
        for (int i = 0; i < 4; i++) {
            EXPECT_OK(aclrtMemcpyAsync(base, granule, pinned, granule, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        }
        EXPECT_OK(aclrtUnmapMem(base));
        aclrtSynchronizeStream(stream);
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMapMem(base, granule, 0, handle, 0));
    EXPECT_OK(aclrtMemcpy(base, granule, pinned, granule, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(base, granule, 5);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    aclrtUnmapMem(base);
    aclrtFreePhysical(handle);
    aclrtReleaseMemAddress(base);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    memset(&prop, 0, sizeof prop);
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule));
    aclrtStream stream = new_stream();
    check_aliases(stream);
    check_capacity();
    check_many_handles();
    check_host_memory(stream);
    check_unmapping(stream);
    return finish();
}
