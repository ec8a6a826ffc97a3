// soc: Ascend910B
// softacl-only
// misuses: L3
// sanitize: none (they keep memory of their own)
// valgrind: none (it keeps memory of its own)
/* Freed device memory goes back to the system when it is much, wherever the next allocation lies and whatever was queued. */
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
    size_t at_first = resident_mib();
    void *small[16];
    /* One large one at a time; what stays between them keeps its place from being used again. */
    for (size_t round = 0; round < 16; round++) {
        size_t size = (80 + 5 * round) * MIB;
        void *large = device_memory(size);
        small[round] = device_memory(4096);
        EXPECT_OK(aclrtMemset(large, size, 1, size));
        EXPECT_OK(aclrtFree(large));
        EXPECT_TRUE(resident_mib() < at_first + 700, "%zu MiB in round %zu", resident_mib(), round);
    }
    for (size_t round = 0; round < 16; round++) {
        EXPECT_OK(aclrtFree(small[round]));
    }
    /* Freed while copies to it are queued, and then waited for. */
    void *pinned = pinned_memory(100 * MIB);
    for (size_t round = 0; round < 10; round++) {
        void *large = device_memory(100 * MIB);
        EXPECT_OK(aclrtMemcpyAsync(large, 100 * MIB, pinned, 100 * MIB, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtFree(large));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(resident_mib() < at_first + 100 + 700, "%zu MiB after the wait", resident_mib());
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
