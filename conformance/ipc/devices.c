// soc: Ascend910B Ascend910C
// env: SOFTACL_DEVICES=2
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Memory imported from a process on another device supports
 * only asynchronous device-to-device copies (7, IPC memory). */
#include "../expect.h"
#include "../peer.h"

#define SIZE 4096

static int exporter(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(1));
    void *device = device_memory(SIZE);
    device_fill(device, SIZE, 1);
    char key[65];
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key, 1));
    peer_send(parent, key, sizeof key);
    peer_expect_byte(parent, 'w');
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    peer_send_byte(parent, 'r');
    peer_expect_byte(parent, 'e');
    EXPECT_OK(aclrtIpcMemClose(key));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtResetDevice(1));
    return finish();
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        return exporter(peer_parent(argv));
    }
    struct peer peer = peer_start("exporter");
    char key[65];
    peer_receive(peer, key, sizeof key);
    REQUIRE_OK(aclrtSetDevice(0));
    void *imported = NULL, *local = device_memory(SIZE);
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    REQUIRE_OK(aclrtIpcMemImportByKey(&imported, key, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    EXPECT_OK(aclrtMemcpyAsync(local, SIZE, imported, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(local, SIZE, 1);
    EXPECT_SOFTACL_CODE(aclrtMemcpy(pinned, SIZE, imported, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
    EXPECT_SOFTACL_CODE(aclrtMemcpy(local, SIZE, imported, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    EXPECT_SOFTACL_CODE(aclrtMemcpyAsync(imported, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 507899);
    EXPECT_SOFTACL_CODE(aclrtMemcpyAsync(pinned, SIZE, imported, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 507899);
    EXPECT_SOFTACL_CODE(aclrtMemcpyAsync(local, SIZE, imported, SIZE, ACL_MEMCPY_DEFAULT, stream), 507899);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    device_fill(local, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(imported, SIZE, local, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_send_byte(peer, 'w');
    peer_expect_byte(peer, 'r');
    EXPECT_OK(aclrtIpcMemClose(key));
    peer_send_byte(peer, 'e');
    peer_join(peer);
    EXPECT_OK(aclrtFree(local));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
