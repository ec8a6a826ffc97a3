// soc: all
// softacl-only
/* Page sizes: HUGE_FIRST uses small pages up to 1 MiB and huge ones above; pages of 1 GiB exist on A2, A3 and 950
 * only; physical memory is served in huge pages, also with the attribute HBM_MEM_NORMAL. */
#include "../expect.h"

#define MIB ((size_t)1 << 20)

static uint32_t page_of(const void *memory)
{
    aclrtPtrAttributes attributes;
    REQUIRE_OK(aclrtPointerGetAttributes(memory, &attributes));
    return attributes.pageSize;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    const struct { size_t size; uint32_t page; } sizes[] = {
        {1, 4096}, {MIB, 4096}, {MIB + 1, 2 * MIB}, {16 * MIB, 2 * MIB},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *memory = device_memory(sizes[i].size);
        EXPECT_TRUE(page_of(memory) == sizes[i].page, "%zu bytes: pages of %u", sizes[i].size, page_of(memory));
        EXPECT_OK(aclrtFree(memory));
    }
    int has_giant_pages = family_has_batches();
    const aclrtMemMallocPolicy policies[] = {ACL_MEM_MALLOC_HUGE1G_ONLY, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P};
    for (size_t i = 0; i < 2; i++) {
        void *memory = NULL;
        EXPECT_CODE(aclrtMalloc(&memory, MIB, policies[i]), has_giant_pages ? 0 : 207000);
        EXPECT_TRUE((memory != NULL) == has_giant_pages, "%p", memory);
        if (memory != NULL) {
            EXPECT_OK(aclrtFree(memory));
        }
    }
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    size_t size = 0;
    prop.memAttr = ACL_HBM_MEM_NORMAL;
    EXPECT_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size));
    EXPECT_TRUE(size == 2 * MIB, "granularity %zu", size);
    prop.memAttr = ACL_HBM_MEM_HUGE1G;
    EXPECT_CODE(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size),
                has_giant_pages ? 0 : 207000);
    if (!has_giant_pages) {
        aclrtDrvMemHandle handle = NULL;
        EXPECT_CODE(aclrtMallocPhysical(&handle, 1024 * MIB, &prop, 0), 207000);
    }
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
