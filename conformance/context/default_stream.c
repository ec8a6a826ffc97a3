// soc: all
// schedules: all
// expects: C1 C2 S1 S2
/* Every context has a separate default stream, which both NULL
 * and the handle of aclrtCtxGetCurrentDefaultStream name. */
#include "../expect.h"

#define SIZE 256

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    aclrtStream handle = NULL, other_handle = NULL, again = NULL;
    EXPECT_CODE(aclrtCtxGetCurrentDefaultStream(&handle), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&handle)); /* 4.3 */
    EXPECT_TRUE(handle != NULL, "no handle");
    EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&again));
    EXPECT_TRUE(handle == again, "the handle changed");
    EXPECT_FAILS(aclrtDestroyStream(handle)); /* 4.4: it cannot be destroyed */

    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    fill_pattern(pinned, SIZE, 1);

    /* NULL and the handle name one queue. */
    gate_close(&gate, NULL);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, handle));
    gate_await(&gate);
    EXPECT_TRUE(stream_is_busy(handle) && stream_is_busy(NULL), "the stream is not blocked");
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(handle, 5), 507046);

    /* Another context has another default stream. */
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&other_handle));
    EXPECT_TRUE(other_handle != handle, "both contexts have one default stream");
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    /* 1.2 row 13b */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, handle), 107003);
    fill_pattern(pinned, SIZE, 3);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(handle)); /* 4.4: synchronizing does not check the context */
    EXPECT_DEVICE_PATTERN(device, SIZE, 3);
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));
    EXPECT_OK(aclrtSynchronizeStream(NULL));

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
