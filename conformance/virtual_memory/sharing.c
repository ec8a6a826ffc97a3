// schedules: all
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Physical memory shared between processes: shareable handles of both API
 * versions, the list of allowed processes, and release in either order. */
#include "../expect.h"
#include "../peer.h"

#define SAMPLE 5000

struct export {
    uint64_t restricted;
    uint64_t open;
    uint64_t size;
    aclrtMemFabricHandle fabric;
};

static aclrtPhysicalMemProp properties(void)
{
    aclrtPhysicalMemProp prop;
    memset(&prop, 0, sizeof prop);
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    return prop;
}

static uint8_t *map(aclrtDrvMemHandle handle, size_t size)
{
    void *base = NULL;
    REQUIRE_OK(aclrtReserveMemAddress(&base, size, 0, NULL, 0));
    REQUIRE_OK(aclrtMapMem(base, size, 0, handle, 0));
    return (uint8_t *)base;
}

static void unmap(uint8_t *base)
{
    EXPECT_OK(aclrtUnmapMem(base));
    EXPECT_OK(aclrtReleaseMemAddress(base));
}

static int importer(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct export export;
    peer_receive(parent, &export, sizeof export);
    aclrtDrvMemHandle handle = NULL, again = NULL;
    /* Not allowed yet; and a handle that differs in one bit is invalid. */
    EXPECT_SOFTACL_CODE(aclrtMemImportFromShareableHandle(export.restricted, 0, &handle), 507899);
    EXPECT_SOFTACL_CODE(aclrtMemImportFromShareableHandle(export.open ^ 4, 0, &handle), 107000);
    int32_t own_id = peer_id();
    peer_send(parent, &own_id, sizeof own_id);
    peer_expect_byte(parent, 'a');
    REQUIRE_OK(aclrtMemImportFromShareableHandle(export.restricted, 0, &handle));
    REQUIRE_OK(aclrtMemImportFromShareableHandleV2(&export.open, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &again));
    if (family() == FAMILY_A3) {
        aclrtDrvMemHandle third = NULL;
        REQUIRE_OK(aclrtMemImportFromShareableHandleV2(&export.fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &third));
        EXPECT_OK(aclrtFreePhysical(third));
    }
    uint64_t shareable;
    EXPECT_FAILS(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    uint8_t *a = map(handle, export.size), *b = map(again, export.size);
    EXPECT_DEVICE_PATTERN(a, SAMPLE, 1);
    EXPECT_DEVICE_PATTERN(b, SAMPLE, 1);

    /* The parent observes copies of this process. */
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SAMPLE);
    fill_pattern(pinned, SAMPLE, 2);
    EXPECT_OK(aclrtMemcpyAsync(a + export.size - SAMPLE, SAMPLE, pinned, SAMPLE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_send_byte(parent, 'w');

    /* The parent frees its memory; the imported memory stays valid. */
    peer_expect_byte(parent, 'g');
    EXPECT_DEVICE_PATTERN(b + export.size - SAMPLE, SAMPLE, 2);
    EXPECT_FAILS(aclrtMemImportFromShareableHandle(export.restricted, 0, &handle));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFreeHost(pinned));
    unmap(a);
    unmap(b);
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtFreePhysical(again));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

/* Imports, writes, and exits without releasing anything. */
static int early_exit(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct export export;
    peer_receive(parent, &export, sizeof export);
    aclrtDrvMemHandle handle = NULL;
    REQUIRE_OK(aclrtMemImportFromShareableHandle(export.open, 0, &handle));
    device_fill(map(handle, export.size), SAMPLE, 3);
    peer_send_byte(parent, 'w');
    _exit(finish());
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        return strcmp(argv[1], "importer") == 0 ? importer(peer_parent(argv)) : early_exit(peer_parent(argv));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtPhysicalMemProp prop = properties();
    size_t granule = 0;
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule));
    struct export export;
    memset(&export, 0, sizeof export);
    export.size = 2 * granule;
    aclrtDrvMemHandle handle = NULL;
    REQUIRE_OK(aclrtMallocPhysical(&handle, export.size, &prop, 0));
    uint8_t *base = map(handle, export.size);
    device_fill(base, SAMPLE, 1);
    REQUIRE_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &export.restricted));
    REQUIRE_OK(aclrtMemExportToShareableHandleV2(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                                 ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &export.open));
    EXPECT_TRUE(export.restricted != export.open, "%llx", (unsigned long long)export.open);
    if (family() == FAMILY_A3) {
        REQUIRE_OK(aclrtMemExportToShareableHandleV2(handle, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &export.fabric));
    }

    struct peer exiting = peer_start("early_exit");
    peer_send(exiting, &export, sizeof export);
    peer_expect_byte(exiting, 'w');
    peer_join(exiting);
    EXPECT_DEVICE_PATTERN(base, SAMPLE, 3);
    device_fill(base, SAMPLE, 1);

    struct peer peer = peer_start("importer");
    peer_send(peer, &export, sizeof export);
    int32_t pids[2] = {1, 0};
    peer_receive(peer, &pids[1], sizeof pids[1]);
    EXPECT_OK(aclrtMemSetPidToShareableHandle(export.restricted, pids, 2));
    peer_send_byte(peer, 'a');
    peer_expect_byte(peer, 'w');
    EXPECT_DEVICE_PATTERN(base + export.size - SAMPLE, SAMPLE, 2);
    unmap(base);
    EXPECT_OK(aclrtFreePhysical(handle));
    peer_send_byte(peer, 'g');
    peer_join(peer);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
