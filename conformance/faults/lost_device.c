// softacl-only
// env: SOFTACL_FAULTS=copy@3=lost; aclrtMemset@6=lost
// schedules: all
// expects: M1
/* A lost device refuses all work until it is reset. Release calls still succeed, and other devices are unaffected. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream(), spare = new_stream();
    void *unused = device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    for (int i = 1; i <= 3; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_CODE(aclrtSynchronizeStream(stream), i == 3 ? 507010 : 0);
    }
    EXPECT_OK(aclrtQueryDeviceStatus(0, &status));
    EXPECT_TRUE(status == ACL_RT_DEVICE_STATUS_ABNORMAL, "%d", status);
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507010);
    EXPECT_CODE(aclrtSynchronizeStream(other), 507010);
    EXPECT_CODE(aclrtSynchronizeDevice(), 507010);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other), 507010);
    EXPECT_CODE(aclrtMemcpy(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 507010);
    EXPECT_CODE(aclrtMemset(device, SIZE, 1, SIZE), 507010);
    void *none = NULL;
    aclrtStream no_stream = NULL;
    aclrtContext no_context = NULL;
    EXPECT_CODE(aclrtMalloc(&none, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 507010);
    EXPECT_CODE(aclrtCreateStream(&no_stream), 507010);
    EXPECT_CODE(aclrtCreateContext(&no_context, 0), 507010);
    EXPECT_CODE(aclrtSetDevice(0), 507010);

    /* Release and query calls succeed. */
    size_t before = 0, after = 0, total = 0;
    aclrtMemAttr attr = ACL_HBM_MEM;
    if (aclrtGetMemInfo(attr, &before, &total) != 0) {
        attr = ACL_DDR_MEM; /* the smaller products have only DDR */
    }
    EXPECT_OK(aclrtGetMemInfo(attr, &before, &total));
    EXPECT_OK(aclrtFree(unused));
    EXPECT_OK(aclrtGetMemInfo(attr, &after, &total));
    EXPECT_TRUE(after > before, "%zu bytes free, %zu before", after, before);
    EXPECT_OK(aclrtDestroyStream(spare));

    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    if (devices > 1) {
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtMemcpy(pinned, SIZE / 2, pinned + SIZE / 2, SIZE / 2, ACL_MEMCPY_HOST_TO_HOST));
        EXPECT_OK(aclrtQueryDeviceStatus(1, &status));
        EXPECT_TRUE(status == ACL_RT_DEVICE_STATUS_NORMAL, "%d", status);
        EXPECT_OK(aclrtResetDevice(1));
    }

    /* A reset makes the device usable again and releases its objects. */
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtQueryDeviceStatus(0, &status));
    EXPECT_TRUE(status == ACL_RT_DEVICE_STATUS_NORMAL, "%d", status);
    stream = new_stream();
    pinned = (uint8_t *)pinned_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    fill_pattern(pinned, SIZE, 4);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 4);

    /* A rule on a call can also lose the device: this is the sixth aclrtMemset. */
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_CODE(aclrtMemset(device, SIZE, 1, SIZE), 507010);
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507010);
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
