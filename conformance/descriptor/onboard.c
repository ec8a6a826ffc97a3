// soc: Ascend310B
// form: RC
// softacl-only
// schedules: all
/* Copies by descriptor in RC form: the host writes and reads device memory directly, also the descriptor. */
#include "../expect.h"

#define SIZE 1024
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(INNER, &size));
    EXPECT_TRUE(size == 32, "size %zu", size);
    aclrtStream stream = new_stream();
    uint8_t *descriptor = (uint8_t *)device_memory(size);
    uint8_t *source = (uint8_t *)device_memory(SIZE), *target = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    fill_pattern(source, SIZE, 1);
    memset(target, 0, SIZE);
    EXPECT_OK(aclrtSetMemcpyDesc(descriptor, INNER, source, target, SIZE, NULL));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(target, SIZE, 1);

    /* The host changes the length in place. */
    uint32_t length = 100;
    memset(target, 0, SIZE);
    memcpy(descriptor + 12, &length, sizeof length);
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(target, 100, 1);
    EXPECT_VALUE(target + 100, SIZE - 100, 0);

    /* A descriptor is in device memory, and so is what it describes. */
    EXPECT_FAILS(aclrtSetMemcpyDesc(pinned, INNER, source, target, SIZE, NULL));
    EXPECT_FAILS(aclrtMemcpyAsyncWithDesc(pinned, INNER, stream));
    uint64_t address = (uint64_t)(uintptr_t)pinned;
    memcpy(descriptor + 16, &address, sizeof address);
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), copy_failure());

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtFree(descriptor));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
