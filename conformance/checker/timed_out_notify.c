// soc: Ascend910B
// softacl-only
// must-find: S1
/* A wait for a notify that nothing records times out. It orders nothing: the task behind it runs beside the upload. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream upload = new_stream(), download = new_stream();
    uint8_t *source = (uint8_t *)pinned_memory(SIZE), *result = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    memset(source, 1, SIZE);
    aclrtNotify notify;
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, upload));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, download, 1));
    EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, download)); /* S1 */
    EXPECT_TRUE(aclrtSynchronizeStream(download) != ACL_SUCCESS, "the wait times out");
    EXPECT_OK(aclrtSynchronizeStream(upload));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(upload));
    EXPECT_OK(aclrtDestroyStream(download));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
