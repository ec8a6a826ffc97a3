// soc: all
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Links and servers of a pod (A3): processes of other servers are allowed with their server, and a link can be chosen
 * for memory. Here all processes are on one server. */
#include "../expect.h"
#include "../peer.h"

#define SIZE (2u << 20)
#define KEY 65

static int importer(struct peer parent)
{
    char key[KEY];
    void *memory = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    int32_t own_id = peer_id();
    peer_receive(parent, key, sizeof key);
    EXPECT_FAILS(aclrtIpcMemImportByKey(&memory, key, 0)); /* not allowed yet */
    peer_send(parent, &own_id, sizeof own_id);
    peer_expect_byte(parent, 'a');
    EXPECT_OK(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS));
    REQUIRE_OK(aclrtIpcMemImportByKey(&memory, key, 0));
    uint8_t *bytes = device_bytes(memory, 4096);
    EXPECT_TRUE(verify_pattern(bytes, 4096, 5) == 4096, "other bytes");
    free(bytes);
    EXPECT_OK(aclrtIpcMemClose(key));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

static void check_servers(struct peer child)
{
    char key[KEY];
    void *memory = shareable_memory(SIZE);
    uint8_t *bytes = (uint8_t *)pageable_memory(4096);
    int32_t pid = 0;
    fill_pattern(bytes, 4096, 5);
    REQUIRE_OK(aclrtMemcpy(memory, SIZE, bytes, 4096, ACL_MEMCPY_HOST_TO_DEVICE));
    free(bytes);
    REQUIRE_OK(aclrtIpcMemGetExportKey(memory, SIZE, key, sizeof key, 0));
    peer_send(child, key, sizeof key);
    peer_receive(child, &pid, sizeof pid);
    aclrtServerPid server = {7, &pid, 1}, empty = {7, NULL, 1}, none = {7, &pid, 0};
    EXPECT_CODE(aclrtIpcMemImportPidInterServer(NULL, &server, 1), 100000);
    EXPECT_CODE(aclrtIpcMemImportPidInterServer(key, NULL, 1), 100000);
    EXPECT_FAILS(aclrtIpcMemImportPidInterServer(key, &server, 0));
    EXPECT_FAILS(aclrtIpcMemImportPidInterServer(key, &empty, 1));
    EXPECT_FAILS(aclrtIpcMemImportPidInterServer(key, &none, 1));
    EXPECT_OK(aclrtIpcMemImportPidInterServer(key, &server, 1));
    peer_send_byte(child, 'a');

    aclrtNotify notify = NULL;
    REQUIRE_OK(aclrtCreateNotify(&notify, 0));
    EXPECT_CODE(aclrtNotifySetImportPidInterServer(NULL, &server, 1), 100000);
    EXPECT_FAILS(aclrtNotifySetImportPidInterServer(notify, &empty, 1));
    EXPECT_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, 0));
    EXPECT_OK(aclrtNotifySetImportPidInterServer(notify, &server, 1));
    EXPECT_OK(aclrtDestroyNotify(notify));
    peer_join(child);
    EXPECT_OK(aclrtFree(memory));
}

/* The second mapping shows the same bytes. */
static void check_links(void)
{
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    aclrtDrvMemHandle handle = NULL;
    void *one = NULL, *two = NULL;
    uint64_t value = 77;
    REQUIRE_OK(aclrtMallocPhysical(&handle, SIZE, &prop, 0));
    EXPECT_OK(aclrtMemMapSetLink(handle, ACL_RT_MEM_ACCESS_LINK_HCCS));
    EXPECT_CODE(aclrtMemMapSetLink(NULL, ACL_RT_MEM_ACCESS_LINK_HCCS), 100000);
    EXPECT_FAILS(aclrtMemMapSetLink(handle, (aclrtMemLinkType)4));
    EXPECT_SOFTACL_CODE(aclrtMemMapSetLink(handle, ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH), 207021);
    REQUIRE_OK(aclrtReserveMemAddress(&one, SIZE, 0, NULL, 0));
    REQUIRE_OK(aclrtReserveMemAddress(&two, SIZE, 0, NULL, 0));
    REQUIRE_OK(aclrtMapMem(one, SIZE, 0, handle, 0));
    EXPECT_CODE(aclrtMemMapSelectedLink(NULL, SIZE, one, ACL_RT_MEM_LINK_IDX_0), 100000);
    EXPECT_CODE(aclrtMemMapSelectedLink(two, SIZE, NULL, ACL_RT_MEM_LINK_IDX_0), 100000);
    EXPECT_FAILS(aclrtMemMapSelectedLink(two, SIZE, one, 2));
    EXPECT_FAILS(aclrtMemMapSelectedLink(one, SIZE, two, ACL_RT_MEM_LINK_IDX_0)); /* nothing is mapped there */
    EXPECT_OK(aclrtMemMapSelectedLink(two, SIZE, one, ACL_RT_MEM_LINK_IDX_1));
    EXPECT_OK(aclrtMemcpy(one, SIZE, &value, sizeof value, ACL_MEMCPY_HOST_TO_DEVICE));
    value = 0;
    EXPECT_OK(aclrtMemcpy(&value, sizeof value, two, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(value == 77, "%llu", (unsigned long long)value);
    EXPECT_OK(aclrtUnmapMem(one));
    EXPECT_OK(aclrtUnmapMem(two));
    EXPECT_OK(aclrtReleaseMemAddress(one));
    EXPECT_OK(aclrtReleaseMemAddress(two));
    EXPECT_OK(aclrtFreePhysical(handle));
}

static void check_refusals(void)
{
    char key[KEY] = "key";
    int32_t pid = 1;
    aclrtServerPid server = {7, &pid, 1};
    EXPECT_CODE(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0), 207000);
    EXPECT_CODE(aclrtIpcMemImportPidInterServer(key, &server, 1), 207000);
    EXPECT_CODE(aclrtNotifySetImportPidInterServer((aclrtNotify)key, &server, 1), 207000);
    EXPECT_CODE(aclrtMemMapSelectedLink(key, SIZE, key, 0), 207000);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return importer(peer_parent(argv));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    if (family() != FAMILY_A3) {
        check_refusals();
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    EXPECT_FAILS(aclrtIpcMemSetAttr("no key", ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0));
    check_servers(peer_start("importer"));
    check_links();
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
