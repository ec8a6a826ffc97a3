// soc: Ascend910B
// schedules: all
/* Allocation and release in stream order: data of every round arrives, memory of a stream is reused, and nothing grows. */
#include "../expect.h"
#include "acl/acl_rt_memory_soma.h"

#define SIZE 65536
#define ROUNDS 100

static struct gate gate = GATE_INITIALIZER;

static uint64_t attribute(aclrtMemPool pool, aclrtMemPoolAttr attr)
{
    uint64_t value = UINT64_MAX;
    EXPECT_OK(aclrtMemPoolGetAttr(pool, attr, &value));
    return value;
}

static size_t free_bytes(void)
{
    size_t unused = 0, total = 0;
    REQUIRE_OK(aclrtGetMemInfo(ACL_HBM_MEM, &unused, &total));
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = NULL;
    REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    uint8_t *source = (uint8_t *)pinned_memory(SIZE * ROUNDS), *result = (uint8_t *)pinned_memory(SIZE * ROUNDS);
    size_t at_first = free_bytes();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        void *memory = NULL;
        fill_pattern(source + SIZE * i, SIZE, i);
        REQUIRE_OK(aclrtMemPoolMallocAsync(&memory, SIZE, pool, stream));
        EXPECT_OK(aclrtMemcpyAsync(memory, SIZE, source + SIZE * i, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtMemcpyAsync(result + SIZE * i, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EXPECT_PATTERN(result + SIZE * i, SIZE, i);
    }
    /* A wait trims down to the threshold, which is 0. */
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0, "nothing is kept");
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0, "nothing is used");
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) >= SIZE, "something was");
    EXPECT_TRUE(free_bytes() == at_first, "everything went back to the device");

    /* With a threshold memory is kept, and given out again. */
    uint64_t threshold = 4 * SIZE, zero = 0;
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &zero));
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero));
    void *first = NULL, *second = NULL;
    EXPECT_OK(aclrtMemPoolMallocAsync(&first, SIZE, pool, stream));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) >= SIZE, "used");
    EXPECT_OK(aclrtMemPoolFreeAsync(first, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    uint64_t kept = attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
    EXPECT_TRUE(kept >= SIZE && kept == attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), "kept: %llu", (unsigned long long)kept);
    EXPECT_TRUE(free_bytes() == at_first - kept, "the device counts it");
    EXPECT_OK(aclrtMemPoolMallocAsync(&second, SIZE, pool, stream));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == kept, "given out again");
    EXPECT_OK(aclrtMemPoolFreeAsync(second, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemPoolTrimTo(pool, (size_t)kept));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == kept, "it may be kept");
    EXPECT_OK(aclrtMemPoolTrimTo(pool, 0));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0 && free_bytes() == at_first, "trimmed");

    /* A release that its stream has not come to keeps the memory; other memory is given out. */
    memset(result, 0, SIZE);
    fill_pattern(source, SIZE, 77);
    EXPECT_OK(aclrtMemPoolMallocAsync(&first, SIZE, pool, stream));
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(result, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(first, stream));
    EXPECT_OK(aclrtMemPoolMallocAsync(&second, SIZE, pool, other));
    EXPECT_TRUE(first != second, "the first is still in use");
    EXPECT_OK(aclrtMemsetAsync(second, SIZE, 1, SIZE, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) >= 2 * SIZE, "both are used");
    gate_await(&gate);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(result, SIZE, 77);
    EXPECT_DEVICE_VALUE(second, SIZE, 1);

    /* aclrtFree takes memory of a pool as well. */
    EXPECT_OK(aclrtFree(second));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0, "given back");
    /* A pool may end while its memory is in use. */
    EXPECT_OK(aclrtMemPoolMallocAsync(&first, SIZE, pool, stream));
    EXPECT_OK(aclrtMemPoolDestroy(pool));
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(first, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(free_bytes() == at_first, "everything went back to the device");
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
