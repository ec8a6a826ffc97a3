// soc: all
// expects: M1
/* Cache operations are tasks of their stream: by descriptor (950, A3, A2) and with barriers (310B). */
#include "../expect.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

static void check_queued(aclrtStream stream, aclError got, const char *name)
{
    EXPECT_TRUE(got == 0, "%s returned %d", name, got);
    EXPECT_TRUE(stream_is_busy(stream), "%s is not a task of the stream", name);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

static void check_descriptors(aclrtStream stream, uint8_t *device, void *host)
{
    size_t size = 0;
    EXPECT_CODE(aclrtCmoGetDescSize(NULL), 100000);
    REQUIRE_OK(aclrtCmoGetDescSize(&size));
    EXPECT_TRUE(size > 0 && size <= 4096, "%zu", size);
    void *descriptor = device_memory(size);
    EXPECT_CODE(aclrtCmoSetDesc(NULL, device, SIZE), 100000);
    EXPECT_CODE(aclrtCmoSetDesc(descriptor, NULL, SIZE), 100000);
    EXPECT_FAILS(aclrtCmoSetDesc(descriptor, device, 0));
    EXPECT_FAILS(aclrtCmoSetDesc(descriptor, device, SIZE + 1));
    EXPECT_FAILS(aclrtCmoSetDesc(host, device, SIZE));
    REQUIRE_OK(aclrtMemset(descriptor, size, 0, size));
    EXPECT_OK(aclrtCmoSetDesc(descriptor, device, SIZE));
    uint8_t *contents = (uint8_t *)pageable_memory(size);
    EXPECT_OK(aclrtMemcpy(contents, size, descriptor, size, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(verify_value(contents, size, 0) < size, "the descriptor was not written");
    free(contents);
    gate_close(&gate, stream);
    check_queued(stream, aclrtCmoAsyncWithDesc(descriptor, ACL_RT_CMO_TYPE_PREFETCH, stream, NULL), "by descriptor");
    EXPECT_CODE(aclrtCmoAsyncWithDesc(NULL, ACL_RT_CMO_TYPE_PREFETCH, stream, NULL), 100000);
    EXPECT_FAILS(aclrtCmoAsyncWithDesc(descriptor, (aclrtCmoType)4, stream, NULL));
    EXPECT_FAILS(aclrtCmoAsyncWithDesc(descriptor, ACL_RT_CMO_TYPE_PREFETCH, stream, &size));
    EXPECT_FAILS(aclrtCmoAsyncWithDesc(host, ACL_RT_CMO_TYPE_PREFETCH, stream, NULL));
    EXPECT_CODE(aclrtCmoAsyncWithDesc(descriptor, ACL_RT_CMO_TYPE_PREFETCH, stale_stream(), NULL), 107017);
    EXPECT_OK(aclrtFree(descriptor));
}

static void check_barriers(aclrtStream stream, uint8_t *device)
{
    aclrtBarrierTaskInfo info;
    memset(&info, 0, sizeof info);
    info.barrierNum = 1;
    info.cmoInfo[0] = (aclrtBarrierCmoInfo){ACL_RT_CMO_TYPE_INVALID, 3};
    gate_close(&gate, stream);
    EXPECT_OK(aclrtCmoAsyncWithBarrier(device, SIZE, ACL_RT_CMO_TYPE_INVALID, 3, stream));
    check_queued(stream, aclrtCmoWaitBarrier(&info, stream, 0), "the wait");
    EXPECT_CODE(aclrtCmoAsyncWithBarrier(NULL, SIZE, ACL_RT_CMO_TYPE_INVALID, 3, stream), 100000);
    EXPECT_FAILS(aclrtCmoAsyncWithBarrier(device, 0, ACL_RT_CMO_TYPE_INVALID, 3, stream));
    EXPECT_FAILS(aclrtCmoAsyncWithBarrier(device, SIZE, (aclrtCmoType)-1, 3, stream));
    EXPECT_CODE(aclrtCmoWaitBarrier(NULL, stream, 0), 100000);
    info.barrierNum = 0;
    EXPECT_FAILS(aclrtCmoWaitBarrier(&info, stream, 0));
    info.barrierNum = ACL_RT_CMO_MAX_BARRIER_NUM + 1;
    EXPECT_FAILS(aclrtCmoWaitBarrier(&info, stream, 0));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    void *host = pageable_memory(SIZE);
    aclrtBarrierTaskInfo info = {1, {{ACL_RT_CMO_TYPE_INVALID, 3}}};
    size_t size = 0;
    if (family_has_batches()) {
        check_descriptors(stream, device, host);
    } else {
        EXPECT_CODE(aclrtCmoGetDescSize(&size), 207000);
        EXPECT_CODE(aclrtCmoSetDesc(device, device, 64), 207000);
        EXPECT_CODE(aclrtCmoAsyncWithDesc(device, ACL_RT_CMO_TYPE_PREFETCH, stream, NULL), 207000);
    }
    if (family() == FAMILY_310B) {
        check_barriers(stream, device);
    } else {
        EXPECT_CODE(aclrtCmoAsyncWithBarrier(device, SIZE, ACL_RT_CMO_TYPE_INVALID, 3, stream), 207000);
        EXPECT_CODE(aclrtCmoWaitBarrier(&info, stream, 0), 207000);
    }
    if (on_softacl()) { /* not documented */
        EXPECT_OK(aclrtDeviceL2CacheFlush(NULL));
    }
    free(host);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
