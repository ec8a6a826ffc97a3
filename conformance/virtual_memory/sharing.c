// schedules: all
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Physical memory of one process in another: numbers of both versions, the list of admitted processes, and lives that end in
 * either order. */
#include "../expect.h"
#include "../peer.h"

#define SAMPLE 5000

struct offer {
    uint64_t strict;
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

static uint8_t *mapped(aclrtDrvMemHandle handle, size_t size)
{
    void *base = NULL;
    REQUIRE_OK(aclrtReserveMemAddress(&base, size, 0, NULL, 0));
    REQUIRE_OK(aclrtMapMem(base, size, 0, handle, 0));
    return (uint8_t *)base;
}

static void unmapped(uint8_t *base)
{
    EXPECT_OK(aclrtUnmapMem(base));
    EXPECT_OK(aclrtReleaseMemAddress(base));
}

static int importer(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct offer offer;
    peer_receive(parent, &offer, sizeof offer);
    aclrtDrvMemHandle handle = NULL, again = NULL;
    /* not admitted yet; and a number that differs in one bit is nothing */
    EXPECT_SOFTACL_CODE(aclrtMemImportFromShareableHandle(offer.strict, 0, &handle), 507899);
    EXPECT_SOFTACL_CODE(aclrtMemImportFromShareableHandle(offer.open ^ 4, 0, &handle), 107000);
    int32_t us = peer_id();
    peer_send(parent, &us, sizeof us);
    peer_expect_byte(parent, 'a');
    REQUIRE_OK(aclrtMemImportFromShareableHandle(offer.strict, 0, &handle));
    REQUIRE_OK(aclrtMemImportFromShareableHandleV2(&offer.open, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &again));
    if (family() == FAMILY_A3) {
        aclrtDrvMemHandle third = NULL;
        REQUIRE_OK(aclrtMemImportFromShareableHandleV2(&offer.fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &third));
        EXPECT_OK(aclrtFreePhysical(third));
    }
    uint64_t number;
    EXPECT_FAILS(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
    uint8_t *a = mapped(handle, offer.size), *b = mapped(again, offer.size);
    EXPECT_DEVICE_PATTERN(a, SAMPLE, 1);
    EXPECT_DEVICE_PATTERN(b, SAMPLE, 1);

    /* what this process queues, the parent sees */
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SAMPLE);
    fill_pattern(pinned, SAMPLE, 2);
    EXPECT_OK(aclrtMemcpyAsync(a + offer.size - SAMPLE, SAMPLE, pinned, SAMPLE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_send_byte(parent, 'w');

    /* the parent gives its memory back; ours lives on */
    peer_expect_byte(parent, 'g');
    EXPECT_DEVICE_PATTERN(b + offer.size - SAMPLE, SAMPLE, 2);
    EXPECT_FAILS(aclrtMemImportFromShareableHandle(offer.strict, 0, &handle));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFreeHost(pinned));
    unmapped(a);
    unmapped(b);
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtFreePhysical(again));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

/* Imports, writes, and ends without another word. */
static int quitter(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct offer offer;
    peer_receive(parent, &offer, sizeof offer);
    aclrtDrvMemHandle handle = NULL;
    REQUIRE_OK(aclrtMemImportFromShareableHandle(offer.open, 0, &handle));
    device_fill(mapped(handle, offer.size), SAMPLE, 3);
    peer_send_byte(parent, 'w');
    _exit(finish());
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        return strcmp(argv[1], "importer") == 0 ? importer(peer_parent(argv)) : quitter(peer_parent(argv));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtPhysicalMemProp prop = properties();
    size_t granule = 0;
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule));
    struct offer offer;
    memset(&offer, 0, sizeof offer);
    offer.size = 2 * granule;
    aclrtDrvMemHandle handle = NULL;
    REQUIRE_OK(aclrtMallocPhysical(&handle, offer.size, &prop, 0));
    uint8_t *base = mapped(handle, offer.size);
    device_fill(base, SAMPLE, 1);
    REQUIRE_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &offer.strict));
    REQUIRE_OK(aclrtMemExportToShareableHandleV2(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                                 ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &offer.open));
    EXPECT_TRUE(offer.strict != offer.open, "%llx", (unsigned long long)offer.open);
    if (family() == FAMILY_A3) {
        REQUIRE_OK(aclrtMemExportToShareableHandleV2(handle, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &offer.fabric));
    }

    struct peer quitter = peer_start("quitter");
    peer_send(quitter, &offer, sizeof offer);
    peer_expect_byte(quitter, 'w');
    peer_join(quitter);
    EXPECT_DEVICE_PATTERN(base, SAMPLE, 3);
    device_fill(base, SAMPLE, 1);

    struct peer peer = peer_start("importer");
    peer_send(peer, &offer, sizeof offer);
    int32_t pids[2] = {1, 0};
    peer_receive(peer, &pids[1], sizeof pids[1]);
    EXPECT_OK(aclrtMemSetPidToShareableHandle(offer.strict, pids, 2));
    peer_send_byte(peer, 'a');
    peer_expect_byte(peer, 'w');
    EXPECT_DEVICE_PATTERN(base + offer.size - SAMPLE, SAMPLE, 2);
    unmapped(base);
    EXPECT_OK(aclrtFreePhysical(handle));
    peer_send_byte(peer, 'g');
    peer_join(peer);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
