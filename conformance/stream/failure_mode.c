// soc: Ascend910B Ascend910C Ascend950 Ascend310B
// softacl-only
// schedules: all
/* Failure modes: CONTINUE reports an error once and runs later tasks; STOP keeps the error for the whole context. */
#include "../expect.h"

#define SIZE 64
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

/* Returns a descriptor with invalid addresses, so that a copy with it fails. */
static void *bad_descriptor(void)
{
    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(INNER, &size));
    void *descriptor = device_memory(size);
    REQUIRE_OK(aclrtMemset(descriptor, size, 0x7F, size));
    return descriptor;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    void *bad = bad_descriptor();
    fill_pattern(pinned, SIZE, 1);

    /* 4.4: CONTINUE is the default and may be set again. */
    EXPECT_OK(aclrtSetStreamFailureMode(first, 0));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(bad, INNER, first));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, first));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_CODE(aclrtSynchronizeStream(first), copy_failure());
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_OK(aclrtSynchronizeStream(first));

    /* 4.2: in CONTINUE mode aclrtSynchronizeDevice waits for all streams and returns the first error. */
    static int ran;
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(bad, INNER, first));
    for (int i = 0; i < 50; i++) {
        EXPECT_OK(aclrtLaunchHostFunc(second, count_up, &ran));
    }
    EXPECT_CODE(aclrtSynchronizeDevice(), copy_failure());
    EXPECT_TRUE(count_of(&ran) == 50, "%d of 50 had run", count_of(&ran));

    /* 4.4: STOP cannot be changed back. */
    EXPECT_OK(aclrtSetStreamFailureMode(first, 1));
    EXPECT_OK(aclrtSetStreamFailureMode(first, 1));
    EXPECT_CODE(aclrtSetStreamFailureMode(first, 0), 207000);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, first)); /* no error yet */
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(bad, INNER, first));
    EXPECT_CODE(aclrtSynchronizeStream(first), copy_failure());
    EXPECT_CODE(aclrtSynchronizeStream(first), copy_failure()); /* the error persists */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, first), copy_failure());
    /* the whole context */
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, second), copy_failure());
    EXPECT_CODE(aclrtSynchronizeStream(second), copy_failure());
    EXPECT_CODE(aclrtSynchronizeDevice(), copy_failure());

    /* A reset clears the error. */
    REQUIRE_OK(aclrtResetDeviceForce(0));
    REQUIRE_OK(aclrtSetDevice(0));
    first = new_stream();
    device = (uint8_t *)device_memory(SIZE);
    pinned = (uint8_t *)pinned_memory(SIZE);
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, first));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
