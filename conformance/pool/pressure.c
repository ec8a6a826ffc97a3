// soc: Ascend910B
// softacl-only
// expects: R1
// env: SOFTACL_MEMORY=64M
/* 1.14: pools release retained memory before aclrtMalloc fails. Aborted releases and resets leak no memory. */
#include "../expect.h"
#include "acl/acl_rt_memory_soma.h"

#define MIB ((size_t)1 << 20)

static struct gate gate = GATE_INITIALIZER;

static size_t free_bytes(void)
{
    size_t unused = 0, total = 0;
    REQUIRE_OK(aclrtGetMemInfo(ACL_HBM_MEM, &unused, &total));
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = NULL;
    REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    uint64_t threshold = UINT64_MAX;
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    void *memory = NULL, *large = NULL;
    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 48 * MIB, pool, stream));
    EXPECT_CODE(aclrtMalloc(&large, 48 * MIB, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(free_bytes() < 48 * MIB, "the pool does not retain the memory");
    EXPECT_OK(aclrtMalloc(&large, 48 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(large));
    /* An allocation of another size from the pool. */
    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 48 * MIB, pool, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 40 * MIB, pool, stream));
    /* One stream can reuse its memory many times without a wait. */
    EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    gate_close(&gate, stream);
    for (int i = 0; i < 10; i++) {
        EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 40 * MIB, pool, stream));
        EXPECT_OK(aclrtMemsetAsync(memory, 40 * MIB, i, 64, stream));
        EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    }
    /* An abort drops queued releases, but the memory is returned. */
    gate_await(&gate);
    gate_open(&gate);
    EXPECT_OK(aclrtStreamAbort(stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemPoolTrimTo(pool, 0));
    EXPECT_TRUE(free_bytes() == 64 * MIB, "%zu", free_bytes());
    /* A reset destroys the pools of the device. */
    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 40 * MIB, pool, stream));
    EXPECT_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_TRUE(free_bytes() == 64 * MIB, "%zu", free_bytes());
    EXPECT_CODE(aclrtMemPoolDestroy(pool), 107017);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
