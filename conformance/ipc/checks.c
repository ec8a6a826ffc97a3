// expects: M1
/* IPC memory: argument checks (7, IPC memory). The 310B does not support it. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *device = (uint8_t *)shareable_memory(10000);
    char key[65], other[65];
    void *pointer = NULL;
    int32_t pid = 1;
    EXPECT_CODE(aclrtIpcMemGetExportKey(NULL, 100, key, sizeof key, 0), 100000);
    EXPECT_CODE(aclrtIpcMemGetExportKey(device, 100, NULL, sizeof key, 0), 100000);
    EXPECT_CODE(aclrtIpcMemSetImportPid(NULL, &pid, 1), 100000);
    EXPECT_CODE(aclrtIpcMemImportByKey(NULL, "key", 0), 100000);
    EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, NULL, 0), 100000);
    EXPECT_CODE(aclrtIpcMemClose(NULL), 100000);
    if (family() == FAMILY_310B) { /* not on this product */
        EXPECT_CODE(aclrtIpcMemGetExportKey(device, 100, key, sizeof key, 0), 207000);
        EXPECT_CODE(aclrtIpcMemSetImportPid("key", &pid, 1), 207000);
        EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, "key", 0), 207000);
        EXPECT_CODE(aclrtIpcMemClose("key"), 207000);
        EXPECT_OK(aclrtFree(device));
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    EXPECT_CODE(aclrtIpcMemGetExportKey(device, 0, key, sizeof key, 0), 107000);
    EXPECT_CODE(aclrtIpcMemGetExportKey(device, 100, key, 0, 0), 107000);
    EXPECT_CODE(aclrtIpcMemGetExportKey(device, 100, key, sizeof key, 2), 107000);
    EXPECT_SOFTACL_CODE(aclrtIpcMemGetExportKey(device, 100, key, 64, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtIpcMemGetExportKey(device + 9000, 1001, key, sizeof key, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtIpcMemGetExportKey(key, 10, key, sizeof key, 0), 107000);
    EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, "key", 2), 107000);
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&pointer, "key", 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtIpcMemClose("key"), 107000);

    /* A key is a string, and every export gets a new one. */
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, 10000, key, sizeof key, 0));
    /* An address inside a page cannot be exported (corrections, rule 17). */
    EXPECT_SOFTACL_CODE(aclrtIpcMemGetExportKey(device + 100, 50, other, sizeof other, 1), 107000);
    EXPECT_SOFTACL_CODE(aclrtIpcMemGetExportKey(device + 4095, 50, other, sizeof other, 1), 107000);
    REQUIRE_OK(aclrtIpcMemGetExportKey(device + 4096, 50, other, sizeof other, 1));
    EXPECT_TRUE(memchr(key, 0, sizeof key) != NULL && key[0] != 0, "the key is not a terminated string");
    EXPECT_TRUE(strcmp(key, other) != 0, "%s", key);
    EXPECT_SOFTACL_CODE(aclrtIpcMemImportByKey(&pointer, key, 0), 107000); /* by the exporting process */
    EXPECT_CODE(aclrtIpcMemSetImportPid(key, NULL, 1), 100000);
    EXPECT_FAILS(aclrtIpcMemSetImportPid(key, &pid, 0));
    EXPECT_OK(aclrtIpcMemSetImportPid(key, &pid, 1));
    EXPECT_OK(aclrtIpcMemClose(key));
    EXPECT_FAILS(aclrtIpcMemClose(key));
    EXPECT_FAILS(aclrtIpcMemSetImportPid(key, &pid, 1));

    /* The 310P exports only memory of a P2P policy (7, IPC memory), whatever the allocation before it at that address. */
    static const int policies[] = {ACL_MEM_MALLOC_HUGE_FIRST_P2P, ACL_MEM_MALLOC_HUGE_ONLY_P2P,
                                   ACL_MEM_MALLOC_NORMAL_ONLY_P2P, ACL_MEM_MALLOC_HUGE_FIRST,
                                   ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        void *memory = NULL;
        char export[65];
        REQUIRE_OK(aclrtMalloc(&memory, 10000, (aclrtMemMallocPolicy)policies[i]));
        if (i >= 3 && family() == FAMILY_310P) {
            EXPECT_SOFTACL_CODE(aclrtIpcMemGetExportKey(memory, 10000, export, sizeof export, 0), 107000);
        } else {
            EXPECT_OK(aclrtIpcMemGetExportKey(memory, 10000, export, sizeof export, 0));
        }
        EXPECT_OK(aclrtFree(memory));
    }

    /* The exporter can use the memory as before. */
    EXPECT_DEVICE_VALUE(device, 10000, 0);
    device_fill(device, 10000, 1);
    EXPECT_DEVICE_PATTERN(device, 10000, 1);
    EXPECT_OK(aclrtFree(device));
    EXPECT_FAILS(aclrtIpcMemClose(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
