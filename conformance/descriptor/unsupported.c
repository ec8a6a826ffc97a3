// soc: Ascend310P Ascend910A
// schedules: all
/* Products without descriptor copies: the checks of the upper layer, then 207000. */
#include "../expect.h"

#define SIZE 256
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *descriptor = (uint8_t *)device_memory(64);
    uint8_t *source = (uint8_t *)device_memory(SIZE);
    uint8_t *target = (uint8_t *)device_memory(SIZE);
    aclrtStream stream = new_stream();
    aclrtStream stale = stale_stream();
    size_t size = 0;

    EXPECT_CODE(aclrtGetMemcpyDescSize(INNER, NULL), 100000); /* 1.6: null and enumerator checks come first */
    EXPECT_CODE(aclrtGetMemcpyDescSize((aclrtMemcpyKind)8, &size), 100000);
    EXPECT_CODE(aclrtGetMemcpyDescSize(INNER, &size), 207000);
    EXPECT_CODE(aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &size), 207000);
    EXPECT_CODE(aclrtSetMemcpyDesc(NULL, INNER, source, target, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, 0, NULL), 100000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, SIZE, NULL), 207000);
    EXPECT_CODE(aclrtSetMemcpyDesc(descriptor, INNER, source, target, SIZE_MAX, NULL), 207000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(NULL, INNER, stream), 100000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, NULL), 100000);
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream), 207000);
    /* the product is checked before the handle */
    EXPECT_CODE(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stale), 207000);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(target, SIZE, 0);

    EXPECT_OK(aclrtFree(descriptor));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
