// soc: all
// expects: R1 M1
/* Memory pools: argument and handle checks, attributes, and the products that support them. */
#include "../expect.h"
#include "acl/acl_rt_memory_soma.h"

static aclrtMemPoolProps properties(void)
{
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    return props;
}

static uint64_t attribute(aclrtMemPool pool, aclrtMemPoolAttr attr)
{
    uint64_t value = UINT64_MAX;
    EXPECT_OK(aclrtMemPoolGetAttr(pool, attr, &value));
    return value;
}

static void check_attributes(aclrtMemPool pool)
{
    uint32_t zero32 = 0;
    uint64_t threshold = 1 << 20, zero = 0;
    for (int attr = ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES;
         attr <= ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES; attr++) {
        for (uint32_t value = 0; value < 2; value++) {
            uint32_t found[2] = {7, 7};
            EXPECT_OK(aclrtMemPoolSetAttr(pool, (aclrtMemPoolAttr)attr, &value));
            EXPECT_OK(aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)attr, found));
            EXPECT_TRUE(found[0] == value && found[1] == 7, "32 bits: attribute %d is %u", attr, found[0]);
        }
    }
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD) == 0, "the default is not 0");
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    EXPECT_TRUE(attribute(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD) == threshold, "not the value that was set");
    for (int attr = ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT; attr <= ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH; attr++) {
        EXPECT_TRUE(attribute(pool, (aclrtMemPoolAttr)attr) == 0, "not 0 before the first allocation");
        EXPECT_FAILS(aclrtMemPoolSetAttr(pool, (aclrtMemPoolAttr)attr, &threshold));
    }
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &zero));
    EXPECT_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero));
    EXPECT_FAILS(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &zero));
    EXPECT_FAILS(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &zero));
    EXPECT_FAILS(aclrtMemPoolSetAttr(pool, (aclrtMemPoolAttr)0, &zero32));
    EXPECT_FAILS(aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)9, &threshold));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtMemPool pool = NULL;
    aclrtMemPoolProps props = properties();
    if (family() != FAMILY_A2) { /* only A2 has pools */
        EXPECT_CODE(aclrtMemPoolCreate(&pool, &props), 207000);
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    aclrtStream stream = new_stream();
    void *memory = NULL;
    EXPECT_CODE(aclrtMemPoolCreate(NULL, &props), 100000);
    EXPECT_CODE(aclrtMemPoolCreate(&pool, NULL), 100000);
    props.allocType = (aclrtMemAllocationType)1;
    EXPECT_CODE(aclrtMemPoolCreate(&pool, &props), 100000);
    props = properties();
    props.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    EXPECT_CODE(aclrtMemPoolCreate(&pool, &props), 100000);
    for (int i = 0; i < 32; i += 31) {
        props = properties();
        props.reserved[i] = 1;
        EXPECT_CODE(aclrtMemPoolCreate(&pool, &props), 100000);
    }
    props = properties();
    props.location.id = 1000;
    EXPECT_FAILS(aclrtMemPoolCreate(&pool, &props));
    props = properties();
    REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    check_attributes(pool);
    EXPECT_CODE(aclrtMemPoolGetAttr(NULL, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &memory), 100000);
    EXPECT_CODE(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, NULL), 100000);
    EXPECT_CODE(aclrtMemPoolSetAttr(NULL, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &memory), 100000);
    EXPECT_CODE(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, NULL), 100000);

    EXPECT_CODE(aclrtMemPoolMallocAsync(NULL, 64, pool, stream), 100000);
    EXPECT_CODE(aclrtMemPoolMallocAsync(&memory, 64, NULL, stream), 100000);
    EXPECT_CODE(aclrtMemPoolMallocAsync(&memory, 64, pool, NULL), 100000);
    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 0, pool, stream));
    EXPECT_CODE(aclrtMemPoolMallocAsync(&memory, 64, pool, stale_stream()), 107017);
    EXPECT_CODE(aclrtMemPoolMallocAsync(&memory, (size_t)1 << 50, pool, stream), 207001);
    EXPECT_FAILS(aclrtMemPoolMallocAsync(&memory, SIZE_MAX - 5, pool, stream));
    EXPECT_CODE(aclrtMemPoolFreeAsync(NULL, stream), 100000);
    uint8_t *other = (uint8_t *)device_memory(64);
    EXPECT_FAILS(aclrtMemPoolFreeAsync(other, stream));
    EXPECT_OK(aclrtFree(other));

    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 1000, pool, stream));
    EXPECT_FAILS(aclrtMemPoolFreeAsync((uint8_t *)memory + 8, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    EXPECT_FAILS(aclrtMemPoolFreeAsync(memory, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_FAILS(aclrtMemPoolFreeAsync(memory, stream));
    EXPECT_SOFTACL_CODE(aclrtMemset(memory, 8, 0, 8), 107000);
    EXPECT_FAILS(aclrtMemPoolTrimTo(NULL, 0));
    EXPECT_OK(aclrtMemPoolTrimTo(pool, 0));
    EXPECT_CODE(aclrtMemPoolDestroy(NULL), 100000);
    EXPECT_OK(aclrtMemPoolDestroy(pool));
    EXPECT_SOFTACL_CODE(aclrtMemPoolDestroy(pool), 107017);
    EXPECT_SOFTACL_CODE(aclrtMemPoolMallocAsync(&memory, 64, pool, stream), 107017);

    /* maxSize limits the pool. */
    props.maxSize = 1 << 20;
    REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    EXPECT_CODE(aclrtMemPoolMallocAsync(&memory, 2 << 20, pool, stream), 207001);
    EXPECT_OK(aclrtMemPoolMallocAsync(&memory, 1 << 20, pool, stream));
    void *more = NULL;
    EXPECT_CODE(aclrtMemPoolMallocAsync(&more, 1 << 20, pool, stream), 207001);
    EXPECT_OK(aclrtMemPoolFreeAsync(memory, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemPoolMallocAsync(&more, 1 << 19, pool, stream));
    EXPECT_OK(aclrtMemPoolFreeAsync(more, stream));
    EXPECT_OK(aclrtMemPoolDestroy(pool));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
