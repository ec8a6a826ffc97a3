// soc: Ascend910B
// schedules: all
/* Pool allocation and release in stream order: the data of every round
 * is correct, a stream reuses its memory, and the pool does not grow. */
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
    size_t initial = free_bytes();
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
    /* A wait trims the pool to its release threshold, which is 0. */
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0, "the pool retains memory");
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0, "memory is in use");
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) >= SIZE, "no use was recorded");
    EXPECT_TRUE(free_bytes() == initial, "memory was not returned to the device");

    /* Below the threshold the pool retains memory and reuses it. */
    uint64_t threshold = 4 * SIZE, zero = 0;
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &zero));
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero));
    void *first = NULL, *second = NULL;
    EXPECT_OK(aclrtMemPoolMallocAsync(&first, SIZE, pool, stream));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) >= SIZE, "not in use");
    EXPECT_OK(aclrtMemPoolFreeAsync(first, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    uint64_t retained = attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
    EXPECT_TRUE(retained >= SIZE && retained == attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH),
                "retained: %llu", (unsigned long long)retained);
    EXPECT_TRUE(free_bytes() == initial - retained, "the device does not count retained memory");
    EXPECT_OK(aclrtMemPoolMallocAsync(&second, SIZE, pool, stream));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == retained,
                "retained memory was not reused");
    EXPECT_OK(aclrtMemPoolFreeAsync(second, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemPoolTrimTo(pool, (size_t)retained));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == retained, "the pool was trimmed too far");
    EXPECT_OK(aclrtMemPoolTrimTo(pool, 0));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0 && free_bytes() == initial,
                "not trimmed");

    /* Memory is not reused before the stream has reached its release. */
    memset(result, 0, SIZE);
    fill_pattern(source, SIZE, 77);
    EXPECT_OK(aclrtMemPoolMallocAsync(&first, SIZE, pool, stream));
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(result, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(first, stream));
    EXPECT_OK(aclrtMemPoolMallocAsync(&second, SIZE, pool, other));
    EXPECT_TRUE(first != second, "memory in use was reused");
    EXPECT_OK(aclrtMemsetAsync(second, SIZE, 1, SIZE, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) >= 2 * SIZE, "the two blocks are not counted");
    gate_await(&gate);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(result, SIZE, 77);
    EXPECT_DEVICE_VALUE(second, SIZE, 1);

    /* aclrtFree accepts memory of a pool. */
    EXPECT_OK(aclrtFree(second));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0, "not returned to the pool");
    /* A pool may be destroyed while its memory is in use. */
    EXPECT_OK(aclrtMemPoolMallocAsync(&first, SIZE, pool, stream));
    EXPECT_OK(aclrtMemPoolDestroy(pool));
    EXPECT_OK(aclrtMemcpyAsync(first, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(first, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(free_bytes() == initial, "memory was not returned to the device");
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
