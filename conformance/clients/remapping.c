// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Usage in serving engines: memory that is unmapped and mapped again
 * at one address (sleep and wake), and copies across mappings. */
#include "../expect.h"

#define PIECES 4
#define SAMPLE 1000

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    size_t piece = 0;
    REQUIRE_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &piece));
    REQUIRE_TRUE(piece > 0, "granularity %zu", piece);

    /* A large reservation takes no memory until something is mapped. */
    void *base = NULL;
    REQUIRE_OK(aclrtReserveMemAddress(&base, (size_t)72 << 30, 0, NULL, 1));
    uint8_t *address = (uint8_t *)base;
    aclrtDrvMemHandle handles[PIECES];
    uint8_t *pinned = (uint8_t *)pinned_memory(piece);

    for (uint32_t round = 1; round <= 3; round++) {
        for (int i = 0; i < PIECES; i++) {
            REQUIRE_OK(aclrtMallocPhysical(&handles[i], piece, &prop, 0));
            REQUIRE_OK(aclrtMapMem(address + (size_t)i * piece, piece, 0, handles[i], 0));
        }
        aclrtPtrAttributes attributes;
        EXPECT_OK(aclrtPointerGetAttributes(address + piece, &attributes));
        EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE, "type %d", (int)attributes.location.type);

        /* Copies across the boundary of two mappings, in both directions. */
        uint8_t *middle = address + piece - SAMPLE / 2;
        fill_pattern(pinned, SAMPLE, round);
        EXPECT_OK(aclrtMemcpyAsync(middle, SAMPLE, pinned, SAMPLE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtMemcpyAsync(address + 2 * piece, SAMPLE, middle, SAMPLE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(middle, SAMPLE, round);
        EXPECT_DEVICE_PATTERN(address + 2 * piece, SAMPLE, round);

        /* Sleep: save the contents on the host and free the memory, but keep the address. */
        EXPECT_OK(aclrtMemcpy(pinned, piece, address + 2 * piece, piece, ACL_MEMCPY_DEVICE_TO_HOST));
        for (int i = 0; i < PIECES; i++) {
            EXPECT_OK(aclrtUnmapMem(address + (size_t)i * piece));
            EXPECT_OK(aclrtFreePhysical(handles[i]));
        }
        EXPECT_FAILS(aclrtMemcpy(pinned, SAMPLE, address + 3 * piece, SAMPLE, ACL_MEMCPY_DEVICE_TO_HOST));

        /* Wake: map new memory at the same address. */
        REQUIRE_OK(aclrtMallocPhysical(&handles[0], piece, &prop, 0));
        REQUIRE_OK(aclrtMapMem(address + 2 * piece, piece, 0, handles[0], 0));
        EXPECT_OK(aclrtMemcpy(address + 2 * piece, piece, pinned, piece, ACL_MEMCPY_HOST_TO_DEVICE));
        EXPECT_DEVICE_PATTERN(address + 2 * piece, SAMPLE, round);
        EXPECT_OK(aclrtUnmapMem(address + 2 * piece));
        EXPECT_OK(aclrtFreePhysical(handles[0]));
    }
    EXPECT_OK(aclrtReleaseMemAddress(base));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
