// soc: Ascend910B
// softacl-only
/* Device memory counts as initialized if a stream writes a value to it or if other processes can open it. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint64_t *cell = (uint64_t *)device_memory(4096), *host = (uint64_t *)pinned_memory(4096);
    void *shared = device_memory(2 << 20);
    EXPECT_OK(aclrtValueWrite(cell, 77, 0, stream));
    EXPECT_OK(aclrtMemcpyAsync(host, 8, cell, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(*host == 77, "the value is %llu", (unsigned long long)*host);
    char key[65];
    EXPECT_OK(aclrtIpcMemGetExportKey(shared, 2 << 20, key, sizeof key, 0));
    EXPECT_OK(aclrtMemcpyAsync(host, 4096, shared, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtIpcMemClose(key));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtFree(shared));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
