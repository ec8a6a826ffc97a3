// soc: Ascend910B Ascend910C Ascend950 Ascend310B
// schedules: all
/* Byte layout of a descriptor: aclrtSetMemcpyDesc writes it,
 * and a descriptor that the program wrote itself works too. */
#include "../expect.h"

#define SIZE 300
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

struct layout {
    size_t size, length, source, target;
};

static struct layout layout_of_product(void)
{
    struct layout small = {32, 12, 16, 24};
    struct layout large = {64, 48, 32, 40};
    return family() == FAMILY_950 ? large : small;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct layout layout = layout_of_product();
    aclrtStream stream = new_stream();
    uint8_t *descriptor = (uint8_t *)device_memory(192);
    uint8_t *source = (uint8_t *)device_memory(2 * SIZE);
    uint8_t *target = (uint8_t *)device_memory(2 * SIZE);
    device_fill(source, SIZE, 1);
    device_fill(source + SIZE, SIZE, 2);
    REQUIRE_OK(aclrtMemset(descriptor, 192, 0xC3, 192));

    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(INNER, &size));
    EXPECT_TRUE(size == layout.size, "size %zu", size);
    REQUIRE_OK(aclrtSetMemcpyDesc(descriptor + 64, INNER, source, target, SIZE, NULL));

    uint8_t *bytes = device_bytes(descriptor, 192);
    uint32_t length = 0;
    uint64_t from = 0, to = 0;
    memcpy(&length, bytes + 64 + layout.length, 4);
    memcpy(&from, bytes + 64 + layout.source, 8);
    memcpy(&to, bytes + 64 + layout.target, 8);
    EXPECT_TRUE(length == SIZE, "length %u", length);
    EXPECT_TRUE(from == (uint64_t)(uintptr_t)source, "wrong source");
    EXPECT_TRUE(to == (uint64_t)(uintptr_t)target, "wrong destination");
    EXPECT_VALUE(bytes, 64, 0xC3);                                /* bytes outside the descriptor are unchanged */
    EXPECT_VALUE(bytes + 64 + size, 192 - 64 - size, 0xC3);

    /* Change fields directly, as a kernel on the device would. */
    uint64_t second = (uint64_t)(uintptr_t)(source + SIZE);
    uint32_t half = SIZE / 2;
    memcpy(bytes + 64 + layout.source, &second, 8);
    memcpy(bytes + 64 + layout.length, &half, 4);
    REQUIRE_OK(aclrtMemcpy(descriptor + 64, size, bytes + 64, size, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor + 64, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(target, half, 2);
    EXPECT_DEVICE_VALUE(target + half, 2 * SIZE - half, 0);

    /* A count of exactly 4 GiB passes the check, but the length field has 32 bits: no byte is copied. */
    EXPECT_OK(aclrtSetMemcpyDesc(descriptor + 64, INNER, source, target, (size_t)4 << 30, NULL));
    free(bytes);
    bytes = device_bytes(descriptor + 64, size);
    memcpy(&length, bytes + layout.length, 4);
    EXPECT_TRUE(length == 0, "4 GiB is stored as %u", length);
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor + 64, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(target, half, 2);
    EXPECT_DEVICE_VALUE(target + half, 2 * SIZE - half, 0);

    free(bytes);
    EXPECT_OK(aclrtFree(descriptor));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
