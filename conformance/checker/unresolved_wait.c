// soc: Ascend950
// softacl-only
/* No finding if the host accesses memory before the external wait in front of the copy is resolved. A record that was
 * reset, a count that was not reached, and a value that was overwritten do not resolve the wait. */
#include "../expect.h"

#define SIZE 4096

static aclrtStream stream, other;
static uint8_t *host;
static uint8_t *device;

/* Queues the copy after the unresolved wait and writes to its memory. */
static void copy_then_write(void)
{
    EXPECT_OK(aclrtMemcpyAsync(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    host[0] = 7;
}

static void expect_copied(void)
{
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(host[0] == 1, "byte 0 is %d", host[0]);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    other = new_stream();
    host = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));

    aclrtNotify notify;
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    EXPECT_OK(aclrtRecordNotify(notify, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtNotifyBatchReset(&notify, 1));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    copy_then_write();
    EXPECT_OK(aclrtRecordNotify(notify, other));
    expect_copied();
    EXPECT_OK(aclrtDestroyNotify(notify));

    aclrtCntNotify counting;
    aclrtCntNotifyRecordInfo one = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    aclrtCntNotifyWaitInfo two = {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 2, 0, 1, {0, 0, 0}};
    REQUIRE_OK(aclrtCntNotifyCreate(&counting, 0));
    EXPECT_OK(aclrtCntNotifyRecord(counting, other, &one));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtCntNotifyWaitWithTimeout(counting, stream, &two));
    copy_then_write();
    EXPECT_OK(aclrtCntNotifyRecord(counting, other, &one));
    expect_copied();
    EXPECT_OK(aclrtCntNotifyDestroy(counting));

    uint64_t *cell = (uint64_t *)device_memory(64);
    EXPECT_OK(aclrtMemset(cell, 64, 0, 64));
    EXPECT_OK(aclrtValueWrite(cell, 1, 0, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtMemset(cell, 64, 0, 64));
    EXPECT_OK(aclrtValueWait(cell, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    copy_then_write();
    EXPECT_OK(aclrtValueWrite(cell, 1, 0, other));
    expect_copied();
    EXPECT_OK(aclrtFree(cell));

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
