// soc: Ascend910B
// softacl-only
// must-find: L3
/* Freeing a pool block on one stream while another stream may
 * still read it is reported, unless an event orders them. */
#include "../expect.h"
#include "acl/acl_rt_memory_soma.h"

#define SIZE 4096

static aclrtStream stream, other;
static aclrtEvent event;

static void record_and_wait(aclrtStream first, aclrtStream second)
{
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtStreamWaitEvent(second, event));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    other = new_stream();
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = NULL;
    REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    uint8_t *result = (uint8_t *)pinned_memory(SIZE);
    for (int is_ordered = 1; is_ordered >= 0; is_ordered--) {
        void *block = NULL;
        REQUIRE_OK(aclrtMemPoolMallocAsync(&block, SIZE, pool, stream));
        EXPECT_OK(aclrtMemsetAsync(block, SIZE, 3, SIZE, stream));
        record_and_wait(stream, other);
        EXPECT_OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, other));
        if (is_ordered) {
            record_and_wait(other, stream);
        }
        EXPECT_OK(aclrtMemPoolFreeAsync(block, stream)); /* L3 without the event */
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_OK(aclrtSynchronizeStream(other));
    }
    EXPECT_OK(aclrtMemPoolDestroy(pool));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
