// soc: Ascend910B
// softacl-only
// must-find: S1
/* A wait that is stopped orders nothing: the copy behind it reads before the fill that it waited for. */
#include "../expect.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream producer = new_stream(), consumer = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE), *host = (uint8_t *)pinned_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 7, SIZE));
    aclrtNotify notify;
    REQUIRE_OK(aclrtCreateNotify(&notify, 0));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, consumer, 0));
    EXPECT_OK(aclrtMemcpyAsync(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    gate_close(&gate, producer);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 1, SIZE, producer));
    EXPECT_OK(aclrtRecordNotify(notify, producer));
    EXPECT_OK(aclrtStreamStop(consumer)); /* S1 */
    EXPECT_OK(aclrtSynchronizeStream(consumer));
    EXPECT_TRUE(host[0] == 7, "the copy did not run before the fill");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(producer));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(producer));
    EXPECT_OK(aclrtDestroyStream(consumer));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
