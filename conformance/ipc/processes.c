// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// schedules: all
// expects: M1 I1
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Memory shared between processes: whole allocations and parts, the list of
 * allowed processes, queued copies on both sides, and release in either order. */
#include "../expect.h"
#include "../peer.h"

#define SIZE ((size_t)3 << 20)
#define PART 1001
#define PART_OFFSET ((size_t)2 << 20) /* a page of this allocation */

struct keys {
    char whole[65];
    char part[65];
};

static int importer(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct keys keys;
    peer_receive(parent, &keys, sizeof keys);
    void *whole = NULL, *part = NULL, *again = NULL;
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&whole, keys.whole, 0), 507899); /* not allowed yet */
    int32_t own_id = peer_id();
    peer_send(parent, &own_id, sizeof own_id);
    peer_expect_byte(parent, 'a');
    REQUIRE_OK(aclrtIpcMemImportByKey(&whole, keys.whole, 0));
    REQUIRE_OK(aclrtIpcMemImportByKey(&part, keys.part, 0));
    REQUIRE_OK(aclrtIpcMemImportByKey(&again, keys.part, 0));
    EXPECT_TRUE(again == part, "%p, %p", again, part);
    EXPECT_DEVICE_PATTERN(whole, SIZE, 1);
    uint8_t *bytes = device_bytes((uint8_t *)whole + PART_OFFSET, PART);
    uint8_t *part_bytes = device_bytes(part, PART);
    EXPECT_TRUE(memcmp(bytes, part_bytes, PART) == 0, "the part differs from the whole");
    free(bytes);
    free(part_bytes);

    /* The bounds are those of the exported range. */
    uint8_t byte;
    EXPECT_SOFTACL_CODE(aclrtMemcpy(&byte, 1, (uint8_t *)part + PART, 1, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    EXPECT_SOFTACL_CODE(aclrtMemset(whole, SIZE + 1, 0, SIZE + 1), 107000);
    EXPECT_FAILS(aclrtFree(whole));
    aclrtPtrAttributes attributes;
    EXPECT_OK(aclrtPointerGetAttributes(part, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 0,
                "wrong location");
    char key[65];
    EXPECT_FAILS(aclrtIpcMemGetExportKey(whole, SIZE, key, sizeof key, 0));

    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(PART);
    void *local = device_memory(PART);
    fill_pattern(pinned, PART, 2);
    EXPECT_OK(aclrtMemcpyAsync(local, PART, pinned, PART, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(part, PART, local, PART, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_send_byte(parent, 'w');

    /* The parent has closed its keys and freed the memory. The imported memory
     * stays valid and is not the memory that the parent now has at that address. */
    peer_expect_byte(parent, 'f');
    EXPECT_DEVICE_PATTERN(part, PART, 2);
    EXPECT_OK(aclrtMemset(whole, SIZE, 0x77, SIZE));
    EXPECT_OK(aclrtIpcMemClose(keys.part));
    EXPECT_DEVICE_VALUE(part, PART, 0x77); /* it was imported twice */
    EXPECT_OK(aclrtIpcMemClose(keys.part));
    EXPECT_FAILS(aclrtMemcpy(&byte, 1, part, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_FAILS(aclrtIpcMemClose(keys.part));
    EXPECT_FAILS(aclrtIpcMemImportByKey(&again, keys.part, 0));
    peer_send_byte(parent, 'c');
    peer_expect_byte(parent, 'e'); /* the parent has reset its device */
    EXPECT_DEVICE_VALUE(whole, SIZE, 0x77);
    EXPECT_OK(aclrtIpcMemClose(keys.whole));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(local));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

/* A process that is not on the list cannot import. */
static int unlisted(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct keys keys;
    peer_receive(parent, &keys, sizeof keys);
    void *pointer = NULL;
    int32_t own_id = peer_id();
    EXPECT_FAILS(aclrtIpcMemSetImportPid(keys.whole, &own_id, 1));
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&pointer, keys.whole, 0), 507899);
    /* A modified key is invalid. */
    keys.part[40] = keys.part[40] == '0' ? '1' : '0';
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&pointer, keys.part, 0), 107000);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        return strcmp(argv[1], "importer") == 0 ? importer(peer_parent(argv)) : unlisted(peer_parent(argv));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = shareable_memory(SIZE);
    device_fill(device, SIZE, 1);
    struct keys keys;
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, keys.whole, sizeof keys.whole, 0));
    REQUIRE_OK(aclrtIpcMemGetExportKey((uint8_t *)device + PART_OFFSET, PART, keys.part, sizeof keys.part,
                                       ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));

    struct peer unlisted_peer = peer_start("unlisted");
    peer_send(unlisted_peer, &keys, sizeof keys);
    peer_join(unlisted_peer);

    struct peer peer = peer_start("importer");
    peer_send(peer, &keys, sizeof keys);
    int32_t pids[3] = {1, 0, 2};
    peer_receive(peer, &pids[1], sizeof pids[1]);
    EXPECT_OK(aclrtIpcMemSetImportPid(keys.whole, pids, 3));
    peer_send_byte(peer, 'a');
    peer_expect_byte(peer, 'w');
    EXPECT_DEVICE_PATTERN((uint8_t *)device + PART_OFFSET, PART, 2);
    EXPECT_OK(aclrtIpcMemClose(keys.part));
    EXPECT_OK(aclrtFree(device));
    /* New memory at the same address. */
    void *next = device_memory(SIZE);
    peer_send_byte(peer, 'f');
    peer_expect_byte(peer, 'c');
    EXPECT_DEVICE_VALUE(next, SIZE, 0);
    EXPECT_OK(aclrtFree(next));
    EXPECT_OK(aclrtResetDevice(0));
    peer_send_byte(peer, 'e');
    peer_join(peer);
    return finish();
}
