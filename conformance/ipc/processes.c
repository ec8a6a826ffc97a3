// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// schedules: all
// misuses: M1
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Memory of one process in another: whole allocations and parts, the list of admitted processes, queued work on both sides, and
 * lives that end in either order. */
#include "../expect.h"
#include "../peer.h"

#define SIZE ((size_t)3 << 20)
#define PART 1001
#define AT 12345

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
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&whole, keys.whole, 0), 507899); /* not admitted yet */
    int32_t us = peer_id();
    peer_send(parent, &us, sizeof us);
    peer_expect_byte(parent, 'a');
    REQUIRE_OK(aclrtIpcMemImportByKey(&whole, keys.whole, 0));
    REQUIRE_OK(aclrtIpcMemImportByKey(&part, keys.part, 0));
    REQUIRE_OK(aclrtIpcMemImportByKey(&again, keys.part, 0));
    EXPECT_TRUE(again == part, "%p, %p", again, part);
    EXPECT_DEVICE_PATTERN(whole, SIZE, 1);
    uint8_t *bytes = device_bytes((uint8_t *)whole + AT, PART);
    uint8_t *same = device_bytes(part, PART);
    EXPECT_TRUE(memcmp(bytes, same, PART) == 0, "the part is that of the whole");
    free(bytes);
    free(same);

    /* the bounds are those of the export */
    uint8_t byte;
    EXPECT_SOFTACL_CODE(aclrtMemcpy(&byte, 1, (uint8_t *)part + PART, 1, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    EXPECT_SOFTACL_CODE(aclrtMemset(whole, SIZE + 1, 0, SIZE + 1), 107000);
    EXPECT_FAILS(aclrtFree(whole));
    aclrtPtrAttributes attributes;
    EXPECT_OK(aclrtPointerGetAttributes(part, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 0, "place");
    char key[65];
    EXPECT_FAILS(aclrtIpcMemGetExportKey(whole, SIZE, key, sizeof key, 0));

    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(PART);
    void *own = device_memory(PART);
    fill_pattern(pinned, PART, 2);
    EXPECT_OK(aclrtMemcpyAsync(own, PART, pinned, PART, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(part, PART, own, PART, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_send_byte(parent, 'w');

    /* the parent has closed and freed: what is imported lives on, and is not what the parent has there now */
    peer_expect_byte(parent, 'f');
    EXPECT_DEVICE_PATTERN(part, PART, 2);
    EXPECT_OK(aclrtMemset(whole, SIZE, 0x77, SIZE));
    EXPECT_OK(aclrtIpcMemClose(keys.part));
    EXPECT_DEVICE_VALUE(part, PART, 0x77); /* imported twice */
    EXPECT_OK(aclrtIpcMemClose(keys.part));
    EXPECT_FAILS(aclrtMemcpy(&byte, 1, part, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_FAILS(aclrtIpcMemClose(keys.part));
    EXPECT_FAILS(aclrtIpcMemImportByKey(&again, keys.part, 0));
    peer_send_byte(parent, 'c');
    peer_expect_byte(parent, 'e'); /* the last word of the parent, which then ends */
    EXPECT_DEVICE_VALUE(whole, SIZE, 0x77);
    EXPECT_OK(aclrtIpcMemClose(keys.whole));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(own));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

/* Not on the list, whatever it does. */
static int stranger(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct keys keys;
    peer_receive(parent, &keys, sizeof keys);
    void *pointer = NULL;
    int32_t us = peer_id();
    EXPECT_FAILS(aclrtIpcMemSetImportPid(keys.whole, &us, 1));
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&pointer, keys.whole, 0), 507899);
    /* every other key is nothing */
    keys.part[40] = keys.part[40] == '0' ? '1' : '0';
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&pointer, keys.part, 0), 107000);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        return strcmp(argv[1], "importer") == 0 ? importer(peer_parent(argv)) : stranger(peer_parent(argv));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = NULL;
    REQUIRE_OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P)); /* the 310P wants a P2P policy */
    device_fill(device, SIZE, 1);
    struct keys keys;
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, keys.whole, sizeof keys.whole, 0));
    REQUIRE_OK(aclrtIpcMemGetExportKey((uint8_t *)device + AT, PART, keys.part, sizeof keys.part,
                                       ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));

    struct peer stranger = peer_start("stranger");
    peer_send(stranger, &keys, sizeof keys);
    peer_join(stranger);

    struct peer peer = peer_start("importer");
    peer_send(peer, &keys, sizeof keys);
    int32_t pids[3] = {1, 0, 2};
    peer_receive(peer, &pids[1], sizeof pids[1]);
    EXPECT_OK(aclrtIpcMemSetImportPid(keys.whole, pids, 3));
    peer_send_byte(peer, 'a');
    peer_expect_byte(peer, 'w');
    EXPECT_DEVICE_PATTERN((uint8_t *)device + AT, PART, 2);
    EXPECT_OK(aclrtIpcMemClose(keys.part));
    EXPECT_OK(aclrtFree(device));
    /* the same addresses, but not the same memory */
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
