// soc: Ascend910B
// softacl-only
// expects: L3
// sanitize: none (the sanitizers hold private memory)
// valgrind: none (valgrind holds private memory)
/* Large amounts of freed device memory are returned to the operating system, also if later allocations lie elsewhere or
 * copies were queued when the memory was freed. */
#include "../expect.h"

#define MIB ((size_t)1 << 20)

static size_t resident_mib(void)
{
    return resident_pages() * 4096 / MIB;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    size_t initial = resident_mib();
    void *small[16];
    /* One large block at a time. The small block after it keeps the freed range from being reused for a larger one. */
    for (size_t round = 0; round < 16; round++) {
        size_t size = (80 + 5 * round) * MIB;
        void *large = device_memory(size);
        small[round] = device_memory(4096);
        EXPECT_OK(aclrtMemset(large, size, 1, size));
        EXPECT_OK(aclrtFree(large));
        EXPECT_TRUE(resident_mib() < initial + 700, "%zu MiB in round %zu", resident_mib(), round);
    }
    for (size_t round = 0; round < 16; round++) {
        EXPECT_OK(aclrtFree(small[round]));
    }
    /* Blocks that are freed while copies to them are queued. */
    void *pinned = pinned_memory(100 * MIB);
    for (size_t round = 0; round < 10; round++) {
        void *large = device_memory(100 * MIB);
        EXPECT_OK(aclrtMemcpyAsync(large, 100 * MIB, pinned, 100 * MIB, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtFree(large));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(resident_mib() < initial + 100 + 700, "%zu MiB after the wait", resident_mib());
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
