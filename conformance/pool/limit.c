// soc: Ascend910B
/* maxSize of a pool is not exceeded if several threads allocate concurrently. */
#include "../expect.h"
#include "acl/acl_rt_memory_soma.h"
#include <stdatomic.h>

enum { ROUNDS = 3000, SIZE = 4096 };

static aclrtMemPool pool;
static aclrtContext context;
static atomic_int arrived;

static void *allocate(void *unused)
{
    REQUIRE_OK(aclrtSetCurrentContext(context));
    aclrtStream stream = new_stream();
    int rounds = iterations(ROUNDS);
    for (int round = 1; round <= rounds; round++) {
        void *block = NULL;
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < 2 * round) {
        }
        /* The other thread may own the only block. */
        if (EXPECT_EITHER(aclrtMemPoolMallocAsync(&block, SIZE, pool, stream), 0, 207001) && block != NULL) {
            EXPECT_OK(aclrtMemPoolFreeAsync(block, stream));
            EXPECT_OK(aclrtSynchronizeStream(stream));
        }
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetCurrentContext(&context));
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = SIZE;
    REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        REQUIRE_TRUE(pthread_create(&threads[i], NULL, allocate, NULL) == 0, "pthread_create");
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE_TRUE(pthread_join(threads[i], NULL) == 0, "pthread_join");
    }
    uint64_t peak = 0;
    EXPECT_OK(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &peak));
    EXPECT_TRUE(peak == SIZE, "at most %llu bytes were reserved", (unsigned long long)peak);
    EXPECT_OK(aclrtMemPoolDestroy(pool));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
