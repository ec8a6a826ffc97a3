// soc: Ascend910B
// softacl-only
// env: SOFTACL_SOC=Ascend910B2C
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* The 910B2C has PCIe only: memory of another process cannot be imported there (507899). */
#include "../expect.h"
#include "../peer.h"

#define SIZE 4096

static int importer(struct peer parent)
{
    char key[65];
    void *pointer = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    peer_receive(parent, key, sizeof key);
    EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, key, 0), 507899);
    EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, key, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS), 507899);
    EXPECT_TRUE(pointer == NULL, "%p", pointer);
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}

int main(void)
{
    struct peer child = peer_fork(importer);
    char key[65];
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(SIZE);
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key,
                                       ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    peer_send(child, key, sizeof key);
    peer_join(child);
    EXPECT_OK(aclrtIpcMemClose(key));
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
