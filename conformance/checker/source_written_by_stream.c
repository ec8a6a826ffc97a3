// soc: Ascend910B
// softacl-only
/* No finding if a stream writes registered memory and reads it again while another stream passes an external wait. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), waiter = new_stream(), other = new_stream();
    aclrtNotify notify;
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    static uint8_t host[2 * SIZE] __attribute__((aligned(SIZE)));
    void *mapped = NULL;
    uint8_t *source = (uint8_t *)device_memory(SIZE), *target = (uint8_t *)device_memory(SIZE);
    REQUIRE_OK(aclrtHostRegister(host, sizeof host, ACL_HOST_REGISTER_MAPPED, &mapped));
    EXPECT_OK(aclrtMemset(source, SIZE, 1, SIZE));
    EXPECT_OK(aclrtRecordNotify(notify, other));
    EXPECT_OK(aclrtSynchronizeStream(other));

    EXPECT_OK(aclrtMemcpyAsync(host, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, waiter, 0));
    EXPECT_OK(aclrtSynchronizeStream(waiter));
    EXPECT_OK(aclrtMemcpyAsync(target, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(target, SIZE, 1);

    EXPECT_OK(aclrtHostUnregister(host));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(waiter));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
